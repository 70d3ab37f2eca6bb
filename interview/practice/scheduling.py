"""When to see a question again: FSRS over the verdict's score (pure; times in UTC)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fsrs import Card, Rating, Scheduler

# Learning steps of minutes make no sense for an answer that takes ten; the first interval is in days.
_scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)

GOOD, HARD = 0.75, 0.45


def rating_for(score: float, verdict: str) -> Rating:
    """The rating a verdict proposes: Again below 0.45 or when contradictory, Good from 0.75."""
    if verdict == "contradictory" or score < HARD:
        return Rating.Again
    if score < GOOD:
        return Rating.Hard
    return Rating.Good


def review(state: dict[str, Any] | None, rating: Rating, now: datetime) -> tuple[dict[str, Any], datetime]:
    """The card after a review at `now`: its state to keep, and when it is due (both UTC)."""
    now = now.astimezone(UTC)
    card = Card.from_dict(state) if state else Card(card_id=1, due=now)  # type: ignore[arg-type]
    card, _ = _scheduler.review_card(card, rating, review_datetime=now)
    return dict(card.to_dict()), card.due
