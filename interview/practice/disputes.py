"""Writes of disputes: a learner says that a verdict is wrong, a reviewer rules on it."""

from __future__ import annotations

from interview.accounts.models import User
from interview.plain_text import storable
from interview.practice.models import Attempt, Dispute, Ruling

NOTE_LIMIT = 2_000


class DisputeRefused(Exception):
    """The verdict can't be disputed, or ruled on, as asked; the message says why."""


def dispute_open(*, attempt: Attempt, note: str) -> Dispute:
    """Say that a verdict is wrong: it needs review from now on. Raises DisputeRefused."""
    if attempt.verdict is None:
        raise DisputeRefused("There is no verdict to dispute yet.")
    if Ruling.objects.filter(dispute__attempt=attempt).exists():
        raise DisputeRefused("A reviewer has ruled on this verdict already. Nothing was changed.")
    return Dispute.objects.update_or_create(attempt=attempt, defaults={"note": _within_limit(note)})[0]


def dispute_withdraw(*, attempt: Attempt) -> None:
    """Take a dispute back, as long as nobody has ruled on it. Raises DisputeRefused."""
    if Ruling.objects.filter(dispute__attempt=attempt).exists():
        raise DisputeRefused("A reviewer has ruled on this, so it stays on record.")
    Dispute.objects.filter(attempt=attempt).delete()


def ruling_make(*, dispute: Dispute, author: User, outcome: str, score: float | None, reason: str) -> Ruling:
    """Rule on a dispute; the grader's verdict stays beside it. Raises DisputeRefused."""
    if dispute.attempt.owner_id == author.pk:
        raise DisputeRefused("Nobody rules on a verdict of their own.")
    return Ruling.objects.create(
        dispute=dispute, author=author, outcome=outcome, score=score, reason=_within_limit(reason)
    )


def _within_limit(text: str) -> str:
    text = storable(text).strip()
    if len(text) > NOTE_LIMIT:
        raise DisputeRefused(f"{len(text):,} characters, and {NOTE_LIMIT:,} is the limit. Nothing was cut.")
    return text
