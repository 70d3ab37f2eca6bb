"""What the room does when an account goes."""

from __future__ import annotations

from django.dispatch import receiver

from interview.accounts.models import User
from interview.accounts.signals import account_leaving
from interview.runs.models import Run
from interview.teaching.services.classes import classes_leave
from interview.teaching.services.regrade import KIND as REGRADE


@receiver(account_leaving)
def pass_classes_on(*, user: User, **_: object) -> None:
    """Classes outlive their owner's account where somebody can take them."""
    classes_leave(user=user)


@receiver(account_leaving)
def forget_runs(*, user: User, **_: object) -> None:
    """Trials of a leaving teacher hold verdicts on other people's answers; they go with the account."""
    Run.objects.filter(owner=user, kind=REGRADE).delete()
