"""Reads of the daily review: what is due on the learner's calendar day, the streak, the days ahead."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from fsrs import Rating

from interview.accounts.middleware import zone_of
from interview.accounts.models import User
from interview.practice.models import Attempt, Review, ReviewCard
from interview.practice.scheduling import local_day, previews, streak

FORECAST_DAYS = 14
NAMES = dict(Review.RATINGS)


def today_of(owner: User, now: datetime | None = None) -> date:
    """The owner's calendar day."""
    return local_day(now or timezone.now(), zone_of(owner))


def due_list(owner: User | None, now: datetime | None = None) -> QuerySet[ReviewCard]:
    """Cards due on the owner's today or before, the longest overdue first; removed questions are left out."""
    cards = ReviewCard.objects.select_related("question__topic").filter(question__retired__isnull=True)
    return cards.filter(owner=owner, due_on__lte=today_of(owner, now)) if owner else cards.none()


def upcoming_list(owner: User | None, now: datetime | None = None) -> QuerySet[ReviewCard]:
    """Cards due on a later day, the next first."""
    cards = ReviewCard.objects.select_related("question__topic").filter(question__retired__isnull=True)
    return cards.filter(owner=owner, due_on__gt=today_of(owner, now)) if owner else cards.none()


def next_due(owner: User, but: str = "") -> ReviewCard | None:
    """The next card to review, other than the question just answered."""
    return due_list(owner).exclude(question_id=but).first()


def streak_of(owner: User, now: datetime | None = None) -> int:
    """Days in a row on which the owner reviewed something, counted in the days they were then."""
    days = Review.objects.filter(owner=owner, counts=True).values_list("day", flat=True).distinct()
    return streak(set(days), today_of(owner, now))


@dataclass(frozen=True)
class Ahead:
    """How many cards are due on a day; those overdue count for today."""

    day: date
    count: int


def forecast(owner: User, now: datetime | None = None) -> list[Ahead]:
    """Cards due today and on each of the next days."""
    today = today_of(owner, now)
    until = today + timedelta(days=FORECAST_DAYS)
    cards = ReviewCard.objects.filter(owner=owner, question__retired__isnull=True, due_on__lt=until)
    days = Counter(max(day, today) for day in cards.values_list("due_on", flat=True))
    return [Ahead(day, days[day]) for day in (today + timedelta(days=n) for n in range(FORECAST_DAYS))]


@dataclass(frozen=True)
class Choice:
    """A rating the learner may give, and the day it leads to."""

    rating: int
    name: str
    due_on: date
    is_chosen: bool
    is_proposed: bool


def rating_choices(attempt: Attempt) -> list[Choice]:
    """The four ratings for an attempt that still sets its question's date; empty otherwise."""
    kept = Review.objects.filter(attempt=attempt).first()
    if kept is None:
        return []
    later = Review.objects.filter(owner_id=attempt.owner_id, attempt__question_id=attempt.question_id)
    if later.filter(created__gt=kept.created).exists():
        return []
    days = previews(kept.before, kept.day)
    return [
        Choice(rating, NAMES[rating], days[rating], rating == kept.rating, rating == kept.proposed)
        for rating in Rating
    ]
