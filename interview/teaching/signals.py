"""What the room does when an account goes."""

from __future__ import annotations

from django.dispatch import receiver

from interview.accounts.models import User
from interview.accounts.signals import account_leaving
from interview.teaching.services.classes import classes_leave


@receiver(account_leaving)
def pass_classes_on(*, user: User, **_: object) -> None:
    """Classes outlive their owner's account where somebody can take them."""
    classes_leave(user=user)
