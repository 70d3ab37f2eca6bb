"""Reads of disputes: a learner's own, and for reviewers the open ones of everybody, the oldest first."""

from __future__ import annotations

import uuid

from django.db.models import Exists, OuterRef, QuerySet

from interview.accounts.models import User
from interview.practice.models import Attempt, Dispute, Ruling

RULED = Exists(Ruling.objects.filter(dispute=OuterRef("pk")))


def dispute_get(attempt: Attempt) -> Dispute | None:
    """What the learner said against this verdict, with the rulings on it."""
    return _whole().filter(attempt=attempt).first()


def dispute_list(owner: User) -> QuerySet[Dispute]:
    """The verdicts that somebody disputed, the newest first."""
    return _whole().filter(attempt__owner=owner)


def open_list() -> QuerySet[Dispute]:
    """Disputes that nobody has ruled on, the oldest first."""
    return _whole().filter(~RULED).order_by("created")


def ruled_list() -> QuerySet[Dispute]:
    """Disputes that somebody has ruled on, the newest first."""
    return _whole().filter(RULED)


def case_get(attempt_id: uuid.UUID) -> Dispute | None:
    """The dispute of one attempt, whoever wrote it; for reviewers."""
    return _whole().select_related("attempt__rubric").filter(attempt_id=attempt_id).first()


def _whole() -> QuerySet[Dispute]:
    return Dispute.objects.select_related("attempt__question").prefetch_related("rulings")
