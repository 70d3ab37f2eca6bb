"""The tools page: ask, see each call and what became of it, confirm or decline what has an effect."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from interview.accounts.models import User
from interview.accounts.owners import owner_of, owner_or_guest
from interview.runs import selectors as runs
from interview.runs.models import Run
from interview.runs.quotas import QuotaExceeded
from interview.runs.services import IdempotencyConflict, run_create
from interview.tools import services
from interview.tools.forms import ToolsForm, form_values
from interview.tools.models import Proposal
from interview.tools.refund import orders_of
from interview.tools.registry import tools as all_tools

RECENT = 5


@require_http_methods(["GET", "HEAD", "POST"])
def tools(request: HttpRequest) -> HttpResponse:
    """The form and, once it ran, every round."""
    if request.method == "POST":
        return _queued(request)
    run = _own_run(request)
    values = form_values(run.input) if run else {}
    return _page(request, ToolsForm(initial={**values, "idempotency_key": uuid.uuid4().hex}), run=run)


def _queued(request: HttpRequest) -> HttpResponse:
    form = ToolsForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        run = run_create(
            owner=owner_or_guest(request),
            kind="tools",
            input=form.request_body(),
            idempotency_key=form.cleaned_data["idempotency_key"],
        )
    except (QuotaExceeded, IdempotencyConflict) as refusal:
        form.add_error(None, str(refusal))
        return _page(request, form, status=429 if isinstance(refusal, QuotaExceeded) else 409)
    return redirect(f"{reverse('tools:tools')}?run={run.pk}")


def _own_run(request: HttpRequest) -> Run | None:
    name = request.GET.get("run", "")
    if not name:
        return None
    try:
        run = runs.run_get(uuid.UUID(name), owner_of(request))
    except ValueError:
        run = None
    if run is None or run.kind != "tools":
        raise Http404("No such run.")
    return run


def _page(
    request: HttpRequest, form: ToolsForm, *, run: Run | None = None, status: int = 200
) -> HttpResponse:
    owner = owner_of(request)
    fragment = bool(request.htmx) and run is not None  # type: ignore[attr-defined]
    context: dict[str, Any] = {
        "form": form,
        "run": run,
        "page_url": reverse("tools:tools"),
        "standing": runs.standing(run) if run else None,
        "trace": runs.trace_get(run) if run else None,
        "proposal": Proposal.objects.filter(run=run).first() if run else None,
        "orders": orders_of(owner) if owner else [],
        "known": all_tools(),
        "recent": [] if fragment else _earlier(owner, run),
    }
    return render(
        request, "tools/tools.html#run-result" if fragment else "tools/tools.html", context, status=status
    )


def _earlier(owner: User | None, shown: Run | None) -> QuerySet[Run] | list[Run]:
    """The owner's last runs of this page but the one that is shown: its state would stay as it was when the page came."""
    if owner is None:
        return []
    earlier = runs.run_list(owner).filter(kind="tools")
    return (earlier.exclude(pk=shown.pk) if shown else earlier)[:RECENT]


@require_POST
def confirm(request: HttpRequest, proposal_id: uuid.UUID) -> HttpResponse:
    """Let a proposed effect happen, once, and go on with the conversation."""
    return _decided(request, proposal_id, services.proposal_confirm)


@require_POST
def decline(request: HttpRequest, proposal_id: uuid.UUID) -> HttpResponse:
    """Decide against a proposed effect, and go on with the conversation."""
    return _decided(request, proposal_id, services.proposal_decline)


def _decided(request: HttpRequest, proposal_id: uuid.UUID, decide: Any) -> HttpResponse:
    owner = owner_of(request)
    try:
        proposal = decide(owner=owner, proposal_id=proposal_id)
    except Proposal.DoesNotExist as error:
        raise Http404("No such proposal.") from error
    try:
        run = services.conversation_continue(proposal)
    except QuotaExceeded as full:
        messages.error(request, str(full))
        run = proposal.run
    return redirect(f"{reverse('tools:tools')}?run={run.pk}")
