"""When to see a question again: FSRS over the verdict's score, in whole calendar days (pure).

FSRS counts the days between two reviews from their times. Here each review is told to it as noon UTC of the learner's own
calendar day, so a late evening and the next morning are a day apart, whatever the zone and its clock changes do.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from fsrs import Card, Rating, Scheduler

# Learning steps of minutes make no sense for an answer that takes ten; the first interval is in days.
_scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)

GOOD, HARD = 0.75, 0.45
IDENTICAL = "identical_to_reference"
State = dict[str, Any]


def rating_for(score: float, verdict: str, flags: Collection[str] = ()) -> Rating:
    """The rating a verdict proposes: Again below 0.45 or when contradictory, Good from 0.75.

    The strong answer word for word is Hard at most: it shows no recall.
    """
    if verdict == "contradictory" or score < HARD:
        return Rating.Again
    if score < GOOD or IDENTICAL in flags:
        return Rating.Hard
    return Rating.Good


def review(state: State | None, rating: Rating, day: date) -> tuple[State, date]:
    """The card after a review on the learner's calendar `day`: its state to keep, and the day it is due."""
    card = Card.from_dict(state) if state else Card(card_id=1, due=_noon(day))  # type: ignore[arg-type]
    if card.last_review is not None:
        card.last_review = _noon(card.last_review.astimezone(UTC).date())
        day = max(day, card.last_review.date())  # a learner who flew west never reviews before they did
    card, _ = _scheduler.review_card(card, rating, review_datetime=_noon(day))
    return dict(card.to_dict()), card.due.date()


def previews(state: State | None, day: date) -> dict[Rating, date]:
    """The day each rating would lead to."""
    return {rating: review(state, rating, day)[1] for rating in Rating}


def _noon(day: date) -> datetime:
    return datetime.combine(day, time(12), UTC)


def local_day(now: datetime, zone: ZoneInfo) -> date:
    """The learner's calendar day at an instant."""
    return now.astimezone(zone).date()


def day_start(day: date, zone: ZoneInfo) -> datetime:
    """The first instant of a calendar day in UTC; where midnight is skipped, the instant of the change."""
    return datetime.combine(day, time(0), zone).astimezone(UTC)


def streak(days: Collection[date], today: date) -> int:
    """Days in a row with a review, up to today; a day that isn't over yet breaks nothing."""
    day = today if today in days else today - timedelta(days=1)
    count = 0
    while day in days:
        count += 1
        day -= timedelta(days=1)
    return count
