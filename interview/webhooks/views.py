"""Pages of a class's webhooks; its owner's alone, because scores leave the site by them."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from interview.accounts.sessions import AccountRequest
from interview.teaching.errors import TeachingRefused
from interview.teaching.rights import OWNER_ONLY, Seat, seat_of
from interview.teaching.views.pages import fills, reads, writes
from interview.webhooks import services
from interview.webhooks.forms import WebhookForm
from interview.webhooks.models import Delivery, Webhook
from interview.webhooks.signing import secret_of

SHOWN = 50


@fills
def webhook_list(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """The class's addresses, and a form for another."""
    seat = seat_of(request.user, class_id, OWNER_ONLY, writes=request.method == "POST")
    form = WebhookForm(request.POST or None)
    if form.is_valid():
        try:
            made = services.webhook_create(classroom=seat.classroom, **form.cleaned_data)
        except TeachingRefused as refusal:
            form.add_error("url", str(refusal))
        else:
            messages.success(request, "The webhook is there. A test message is on its way.")
            return redirect("webhooks:webhook_page", class_id=class_id, webhook_id=made.pk)
    context = {
        "seat": seat,
        "tab": "settings",
        "form": form,
        "webhooks": Webhook.objects.filter(classroom=seat.classroom),
    }
    return render(request, "webhooks/webhook_list.html", context, status=422 if form.errors else 200)


def _own(
    request: AccountRequest, class_id: uuid.UUID, webhook_id: uuid.UUID, *, writes: bool = False
) -> tuple[Seat, Webhook]:
    """The owner's seat and the webhook of that class."""
    seat = seat_of(request.user, class_id, OWNER_ONLY, writes=writes)
    found = (
        Webhook.objects.select_related("classroom").filter(classroom=seat.classroom, pk=webhook_id).first()
    )
    if found is None:
        raise Http404("No such webhook.")
    return seat, found


@reads
def webhook_page(request: AccountRequest, class_id: uuid.UUID, webhook_id: uuid.UUID) -> HttpResponse:
    """One address: its secret, its state, what was sent and what was answered."""
    seat, webhook = _own(request, class_id, webhook_id)
    rows = Delivery.objects.filter(webhook=webhook).select_related("assignment").order_by("-created", "-id")
    deliveries = list(rows[:SHOWN])
    context = {
        "seat": seat,
        "tab": "settings",
        "webhook": webhook,
        "secret": secret_of(webhook),
        "deliveries": deliveries,
        "waiting": webhook.disabled is None and any(row.sent is None for row in deliveries),
    }
    return render(request, "webhooks/webhook_page.html", context)


@writes
def webhook_ping(request: AccountRequest, class_id: uuid.UUID, webhook_id: uuid.UUID) -> HttpResponse:
    """Send a test message."""
    _, webhook = _own(request, class_id, webhook_id, writes=True)
    try:
        services.webhook_ping(webhook=webhook)
        messages.success(request, "A test message is on its way.")
    except TeachingRefused as refusal:
        messages.error(request, str(refusal))
    return redirect("webhooks:webhook_page", class_id=class_id, webhook_id=webhook_id)


@writes
def secret_renew(request: AccountRequest, class_id: uuid.UUID, webhook_id: uuid.UUID) -> HttpResponse:
    """Another secret."""
    _, webhook = _own(request, class_id, webhook_id, writes=True)
    services.secret_renew(webhook=webhook)
    messages.success(request, "The webhook has a new secret; the former one is worth nothing any more.")
    return redirect("webhooks:webhook_page", class_id=class_id, webhook_id=webhook_id)


@writes
def webhook_resume(request: AccountRequest, class_id: uuid.UUID, webhook_id: uuid.UUID) -> HttpResponse:
    """Switch it on again, or try what waits now."""
    _, webhook = _own(request, class_id, webhook_id, writes=True)
    services.webhook_resume(webhook=webhook)
    messages.success(request, "What waits is tried now.")
    return redirect("webhooks:webhook_page", class_id=class_id, webhook_id=webhook_id)


@writes
def webhook_delete(request: AccountRequest, class_id: uuid.UUID, webhook_id: uuid.UUID) -> HttpResponse:
    """Delete it; also in an archived class, for it is a way out."""
    _, webhook = _own(request, class_id, webhook_id)
    services.webhook_delete(webhook=webhook)
    messages.success(request, "The webhook is deleted. Nothing is sent there any more.")
    return redirect("webhooks:webhook_list", class_id=class_id)
