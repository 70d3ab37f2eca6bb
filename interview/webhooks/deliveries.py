"""Sending what waits: in order, one address after the other, again after a growing wait, and no more after ten failures."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from interview.teaching.models import OWNER, Membership
from interview.teaching.services.notices import notify
from interview.webhooks.addresses import AddressRefused, target_of
from interview.webhooks.models import Delivery, Webhook
from interview.webhooks.sending import Answered, NotSent, post
from interview.webhooks.signing import signed_headers
from interview.webhooks.told import body_of

log = structlog.get_logger(__name__)
TRIES = 10
LONGEST = timedelta(hours=6)
LEASE = timedelta(minutes=2)
KEPT = timedelta(days=30)
GONE = 410


def webhooks_due(now: datetime) -> QuerySet[Webhook]:
    """Addresses with something waiting whose turn it is."""
    waiting = Delivery.objects.filter(webhook=OuterRef("pk"), sent=None)
    free = Q(busy_until=None) | Q(busy_until__lte=now)
    turn = Q(next_try=None) | Q(next_try__lte=now)
    return Webhook.objects.filter(Exists(waiting), free, turn, disabled=None)


def waiting_send() -> int:
    """Send what is due. How many messages arrived."""
    n_sent = 0
    for webhook in webhooks_due(timezone.now()).select_related("classroom"):
        if not webhooks_due(timezone.now()).filter(pk=webhook.pk).update(busy_until=timezone.now() + LEASE):
            continue  # another worker has it
        try:
            n_sent += _send_all(webhook)
        finally:
            Webhook.objects.filter(pk=webhook.pk).update(busy_until=None)
    return n_sent


def _send_all(webhook: Webhook) -> int:
    """One after the other; the first that doesn't arrive keeps the rest waiting, so that nothing is overtaken."""
    n_sent = 0
    rows = Delivery.objects.filter(webhook=webhook, sent=None).select_related("assignment__classroom")
    for delivery in rows.order_by("created", "id")[:50]:
        Webhook.objects.filter(pk=webhook.pk).update(busy_until=timezone.now() + LEASE)
        delivery.webhook = webhook
        if not _send(webhook, delivery):
            break
        n_sent += 1
    return n_sent


def _send(webhook: Webhook, delivery: Delivery) -> bool:
    body = body_of(delivery)
    if body is None:  # everybody it was about has left
        delivery.delete()
        return True
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": "Prefill",
        **signed_headers(webhook, str(delivery.pk), int(timezone.now().timestamp()), body),
    }
    try:
        answered = post(target_of(webhook.url), body, headers)
    except (AddressRefused, NotSent) as error:
        return _failed(webhook, delivery, None, str(error))
    if 200 <= answered.status < 300:
        return _arrived(webhook, delivery, answered)
    return _failed(webhook, delivery, answered.status, answered.text)


def _said(text: str) -> str:
    return " ".join(text.replace("\x00", " ").split())[:300]


def _arrived(webhook: Webhook, delivery: Delivery, answered: Answered) -> bool:
    Delivery.objects.filter(pk=delivery.pk).update(
        sent=timezone.now(), tries=delivery.tries + 1, status=answered.status, said=_said(answered.text)
    )
    webhook.failures = 0
    Webhook.objects.filter(pk=webhook.pk).update(failures=0, next_try=None)
    return True


def _failed(webhook: Webhook, delivery: Delivery, status: int | None, why: str) -> bool:
    said = _said(why)
    Delivery.objects.filter(pk=delivery.pk).update(tries=delivery.tries + 1, status=status, said=said)
    failures = webhook.failures + 1
    wait = min(timedelta(minutes=2 ** (failures - 1)), LONGEST)
    Webhook.objects.filter(pk=webhook.pk).update(failures=failures, next_try=timezone.now() + wait)
    log.warning("webhook_not_delivered", webhook=str(webhook.pk), failures=failures, status=status, said=said)
    if failures >= TRIES or status == GONE:
        _switch_off(webhook, failures, f"it answered {status}" if status else said)
    return False


def _switch_off(webhook: Webhook, failures: int, why: str) -> None:
    told = f"After {failures} failure{'' if failures == 1 else 's'} in a row: {why}"[:300]
    Webhook.objects.filter(pk=webhook.pk).update(disabled=timezone.now(), why=told)
    owners = Membership.objects.filter(classroom=webhook.classroom_id, role=OWNER).select_related("owner")
    notify(
        users=[seat.owner for seat in owners],
        key=f"webhook-{webhook.pk}-{timezone.now():%Y%m%d}",
        text=f"A webhook of {webhook.classroom.name} was switched off: it took nothing any more",
        path=reverse("webhooks:webhook_page", args=[webhook.classroom_id, webhook.pk]),
    )


def deliveries_prune() -> int:
    """Forget what arrived a month ago. How many."""
    return Delivery.objects.filter(sent__lt=timezone.now() - KEPT).delete()[0]
