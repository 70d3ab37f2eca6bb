"""A guest's documents become the account's; a file that both have stays once."""

from __future__ import annotations

from django.dispatch import receiver

from interview.accounts.models import User
from interview.accounts.signals import guest_adopted
from interview.documents import services


@receiver(guest_adopted)
def merge_documents(*, guest: User, user: User, **_: object) -> None:
    """Keep the account's own copy of a file that both uploaded."""
    services.documents_adopt(guest=guest, user=user)
