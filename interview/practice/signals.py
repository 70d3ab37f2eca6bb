"""A guest's practice becomes the account's: drafts are merged here, everything else just changes owner."""

from __future__ import annotations

from django.dispatch import receiver

from interview.accounts.models import User
from interview.accounts.signals import guest_adopted
from interview.practice import services


@receiver(guest_adopted)
def merge_practice(*, guest: User, user: User, **_: object) -> None:
    """Merge what an account may hold only once for a question: drafts and review cards."""
    services.drafts_adopt(guest=guest, user=user)
    services.cards_adopt(guest=guest, user=user)
