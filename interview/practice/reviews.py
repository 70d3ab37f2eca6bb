"""Writes of the daily review: a verdict moves the card, and the learner may choose another rating."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from fsrs import Rating

from interview.accounts.middleware import zone_of
from interview.practice.models import Attempt, Review, ReviewCard
from interview.practice.scheduling import IDENTICAL, State, day_start, local_day, rating_for, review


class RatingRefused(Exception):
    """The rating can't be changed any more; the message says why."""


def review_record(attempt: Attempt) -> Review | None:
    """Move the question's card by this attempt's verdict; one that was not assessed moves nothing."""
    verdict = attempt.verdict
    if verdict is None or verdict["verdict"] == "not_assessed":
        return None
    flags = verdict.get("flags", [])
    proposed = rating_for(verdict["score"], verdict["verdict"], flags)
    card = ReviewCard.objects.filter(owner_id=attempt.owner_id, question_id=attempt.question_id).first()
    # The day on which it was answered: a queue that outlasts midnight breaks no streak.
    day = local_day(attempt.created, zone_of(attempt.owner))
    before = card.state if card else None
    kept, made = Review.objects.get_or_create(
        attempt=attempt,
        defaults={
            "owner_id": attempt.owner_id,
            "proposed": proposed,
            "rating": proposed,
            "before": before,
            "day": day,
            "counts": IDENTICAL not in flags,
        },
    )
    if made:
        _card_move(attempt, before, kept)
    return kept


def _card_move(attempt: Attempt, before: State | None, kept: Review) -> ReviewCard:
    state, due_on = review(before, Rating(kept.rating), kept.day)
    card, _ = ReviewCard.objects.update_or_create(
        owner_id=attempt.owner_id,
        question_id=attempt.question_id,
        defaults={
            "state": state,
            "due_on": due_on,
            "due": day_start(due_on, zone_of(attempt.owner)),
            "updated": timezone.now(),
        },
    )
    return card


@transaction.atomic
def rating_change(*, attempt: Attempt, rating: int) -> ReviewCard:
    """Choose another rating than the proposed one; the date follows from the state before. Raises RatingRefused."""
    kept = Review.objects.select_for_update().filter(attempt=attempt).first()
    if kept is None:
        raise RatingRefused("This answer was not assessed, so it moves no date.")
    later = Review.objects.filter(owner_id=attempt.owner_id, attempt__question_id=attempt.question_id)
    if later.filter(created__gt=kept.created).exists():
        raise RatingRefused("You have answered this question again since, and that answer set the date.")
    kept.rating = Rating(rating)
    kept.save(update_fields=["rating"])
    return _card_move(attempt, kept.before, kept)
