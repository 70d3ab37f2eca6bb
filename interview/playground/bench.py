"""What every page of the playground does with its form and its run: queue one, find one's own, show it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from interview.accounts.models import User
from interview.accounts.owners import owner_of, owner_or_guest
from interview.runs import kinds
from interview.runs import selectors as runs
from interview.runs.models import Run
from interview.runs.services import IdempotencyConflict, QuotaExceeded, run_create

RECENT = 5


@dataclass(frozen=True)
class Bench:
    """One page: its URL's name, the kind of run it queues, and its template (with a partial `run-result`)."""

    page: str
    kind: str
    template: str

    @property
    def url(self) -> str:
        """The page's address."""
        return reverse(f"playground:{self.page}")


def new_key() -> str:
    """A key for a form that is about to be shown: sent twice, it is one run."""
    return uuid.uuid4().hex


def own_run(request: HttpRequest, bench: Bench) -> Run | None:
    """The run named by `?run=`; 404 unless it is one of this page and this owner."""
    name = request.GET.get("run", "")
    return run_of(request, bench, name) if name else None


def run_of(request: HttpRequest, bench: Bench, name: str) -> Run:
    """The owner's run of this page. Raises Http404."""
    try:
        run = runs.run_get(uuid.UUID(name), owner_of(request))
    except ValueError:
        run = None
    if run is None or run.kind != bench.kind:
        raise Http404("No such run.")
    return run


def enqueue(
    request: HttpRequest, bench: Bench, form: forms.Form, body: dict[str, Any]
) -> tuple[Run | None, int]:
    """The queued run and 302, or None and the status to answer with; the form then says what is wrong."""
    if fault := kinds.remote_fault(bench.kind):
        form.add_error(None, fault)
        return None, 422
    try:
        run = run_create(
            owner=owner_or_guest(request),
            kind=bench.kind,
            input=body,
            idempotency_key=form.cleaned_data["idempotency_key"],
        )
    except QuotaExceeded as full:
        form.add_error(None, str(full))
        return None, 429
    except IdempotencyConflict as conflict:
        form.add_error(None, str(conflict))
        return None, 409
    return run, 302


def to_run(bench: Bench, run: Run) -> HttpResponse:
    """Go to the page that shows the run."""
    return redirect(f"{bench.url}?run={run.pk}")


def show(
    request: HttpRequest,
    bench: Bench,
    form: forms.Form,
    *,
    run: Run | None = None,
    status: int = 200,
    partial: str = "run-result",
    context: dict[str, Any] | None = None,
) -> HttpResponse:
    """The page, or its fragment for htmx."""
    owner = owner_of(request)
    fragment = bool(request.htmx) and run is not None and status == 200  # type: ignore[attr-defined]
    values = {
        "form": form,
        "bench": bench,
        "run": run,
        "standing": runs.standing(run) if run else None,
        "trace": runs.trace_get(run) if run else None,
        "remote_fault": kinds.remote_fault(bench.kind),
        "recent": [] if fragment else _earlier(owner, run, bench),
        **(context or {}),
    }
    template = f"{bench.template}#{partial}" if fragment else bench.template
    return render(request, template, values, status=status)


def _earlier(owner: User | None, shown: Run | None, bench: Bench) -> QuerySet[Run] | list[Run]:
    """The owner's last runs of this page but the one that is shown."""
    if owner is None:
        return []
    earlier = runs.run_list(owner).filter(kind=bench.kind)
    return (earlier.exclude(pk=shown.pk) if shown else earlier)[:RECENT]
