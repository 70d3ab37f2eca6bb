"""The Celery task that talks to other people's servers: off the chores' thread, for they may be slow."""

from __future__ import annotations

from interview.celery import app


@app.task(name="webhooks.send")
def webhooks_send() -> None:
    """Send what is due."""
    from interview.webhooks.deliveries import waiting_send

    waiting_send()
