"""What the clock asks for: compare gradebooks, wake the sender, forget old deliveries."""

from __future__ import annotations

from django.utils import timezone

from interview.runs.chores import register


def gradebooks_tell() -> None:
    """Find what changed and wake the sender when something is due."""
    from interview.webhooks.deliveries import webhooks_due
    from interview.webhooks.tasks import webhooks_send
    from interview.webhooks.told import webhooks_compare

    webhooks_compare()
    if webhooks_due(timezone.now()).exists():
        webhooks_send.delay()


def log_prune() -> None:
    """Forget old deliveries."""
    from interview.webhooks.deliveries import deliveries_prune

    deliveries_prune()


register("webhooks-tell", 60, gradebooks_tell)
register("webhooks-prune", 24 * 3600, log_prune)
