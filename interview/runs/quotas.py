"""How much one owner may ask for: runs waiting or running, and tokens a day."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from interview.accounts.models import User
from interview.limits import in_words
from interview.runs import kinds
from interview.runs.models import QUEUED, RUNNING, Run


class QuotaExceeded(Exception):
    """The owner has used up a quota; the message says how much and what to do, `retry_after` (seconds) when."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def quota_check(owner: User, kind: str) -> None:
    """Raises QuotaExceeded. Inside the transaction that stores the run: the owner's row is locked, so that of two
    requests at once only one can be the last one allowed.
    """
    limited = kinds.quota_kinds()
    if kind not in limited:
        return
    User.objects.select_for_update().get(pk=owner.pk)
    waiting = Run.objects.filter(owner=owner, kind__in=limited, state__in=[QUEUED, RUNNING]).count()
    if waiting >= settings.RUN_QUEUE_LIMIT:
        raise QuotaExceeded(
            f"You have {waiting} runs waiting or running, and {settings.RUN_QUEUE_LIMIT} is the limit. "
            "Wait until one ends, or cancel one.",
            retry_after=2,
        )
    _check_tokens(owner)


def _check_tokens(owner: User) -> None:
    limit = settings.RUN_TOKENS_PER_DAY
    used = tokens_today(owner) if limit else 0
    if limit and used >= limit:
        seconds = max(1, int((day_start() + timedelta(days=1) - timezone.now()).total_seconds()))
        hours = f"{seconds // 3600} hours" if seconds >= 7200 else in_words(seconds)
        raise QuotaExceeded(
            f"Your runs have used {used:,} tokens today, and {limit:,} is the limit. "
            f"The next day begins at 00:00 UTC, in {hours}.",
            retry_after=seconds,
        )


def day_start() -> datetime:
    """The last midnight in UTC."""
    return timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)


def tokens_today(owner: User) -> int:
    """Prompt and output tokens of the runs that started since midnight in UTC."""
    today = Run.objects.filter(owner=owner, started__gte=day_start()).aggregate(
        prompt=Sum("prompt_tokens"), output=Sum("completion_tokens")
    )
    return (today["prompt"] or 0) + (today["output"] or 0)
