"""Writes about webhooks: make, try out, change the secret, go on after a failure, delete."""

from __future__ import annotations

import contextlib

from django.db import transaction
from django.db.models import F
from kombu.exceptions import OperationalError

from interview.teaching.errors import TeachingRefused
from interview.teaching.models import Classroom
from interview.webhooks.models import PING, Delivery, Webhook
from interview.webhooks.tasks import webhooks_send
from interview.webhooks.told import told_now

LIMIT = 5


@transaction.atomic
def webhook_create(*, classroom: Classroom, url: str) -> Webhook:
    """An address that hears of what changes from now on, and of itself at once. Raises TeachingRefused."""
    Classroom.objects.select_for_update().get(pk=classroom.pk)
    if Webhook.objects.filter(classroom=classroom).count() >= LIMIT:
        raise TeachingRefused(f"A class has at most {LIMIT} webhooks. Delete one that is no longer used.")
    if Webhook.objects.filter(classroom=classroom, url=url).exists():
        raise TeachingRefused("This class has a webhook to this address already.")
    made = Webhook.objects.create(classroom=classroom, url=url)
    told_now(made)
    webhook_ping(webhook=made)
    return made


@transaction.atomic
def webhook_ping(*, webhook: Webhook) -> None:
    """Send a message about nothing. Raises TeachingRefused while the webhook is switched off or another one waits."""
    if webhook.disabled is not None:
        raise TeachingRefused("This webhook is switched off. Switch it on first.")
    if Delivery.objects.filter(webhook=webhook, event=PING, sent=None).exists():
        raise TeachingRefused("A test message is on its way already.")
    Delivery.objects.create(webhook=webhook, event=PING)
    transaction.on_commit(wake)


def wake() -> None:
    """Have a worker send at once; without a broker the clock does it within a minute."""
    with contextlib.suppress(OperationalError):
        webhooks_send.delay()


def secret_renew(*, webhook: Webhook) -> None:
    """Another secret; the former one is worth nothing from now on."""
    Webhook.objects.filter(pk=webhook.pk).update(secret_number=F("secret_number") + 1)


@transaction.atomic
def webhook_resume(*, webhook: Webhook) -> None:
    """Go on where it stopped: what waits is tried at once, and what changed meanwhile follows."""
    Webhook.objects.filter(pk=webhook.pk).update(disabled=None, why="", failures=0, next_try=None)
    transaction.on_commit(wake)


def webhook_delete(*, webhook: Webhook) -> None:
    """Delete it with its log."""
    webhook.delete()
