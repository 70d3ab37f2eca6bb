"""Pins: a list, one pin with its runs, and the comparison of two of them."""

from __future__ import annotations

import secrets
import uuid

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview.accounts.owners import owner_of, owner_or_guest
from interview.playground.drift.form import PinForm
from interview.playground.drift.seen import compare
from interview.playground.models import Pin
from interview.runs import kinds
from interview.runs import selectors as runs
from interview.runs.models import SUCCEEDED, Run
from interview.runs.services import QuotaExceeded, run_create

PAGE, RUNS = 50, 20


@require_http_methods(["GET", "HEAD", "POST"])
def drift(request: HttpRequest) -> HttpResponse:
    """One's own pins, and a form for a new one."""
    form = PinForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        pin = Pin.objects.create(
            owner=owner_or_guest(request), name=form.cleaned_data["name"], body=form.body()
        )
        return redirect("playground:pin", pin.pk)
    owner = owner_of(request)
    pins = Pin.objects.filter(owner=owner)[:PAGE] if owner else []
    status = 422 if request.method == "POST" else 200
    return render(request, "playground/drift.html", {"form": form, "pins": pins}, status=status)


def _own(request: HttpRequest, pk: int) -> Pin:
    owner = owner_of(request)
    pin = Pin.objects.filter(pk=pk, owner=owner).first() if owner else None
    if pin is None:
        raise Http404("No such pin.")
    return pin


def pin_runs(pin: Pin) -> QuerySet[Run]:
    """The pin's runs, newest first."""
    return Run.objects.filter(owner=pin.owner_id, kind="drift", input__pin=pin.pk)[:RUNS]


@require_safe
def pin(request: HttpRequest, pk: int) -> HttpResponse:
    """A pin with its runs; two of them compared, the first and the last unless the address says which."""
    return _page(request, _own(request, pk))


def _page(request: HttpRequest, own: Pin, *, problem: str = "", status: int = 200) -> HttpResponse:
    found = list(pin_runs(own))
    done = [
        run for run in reversed(found) if run.state == SUCCEEDED and run.output and "prompts" in run.output
    ]
    old = _named(done, request.GET.get("a")) or (done[0] if len(done) > 1 else None)
    new = _named(done, request.GET.get("b")) or (done[-1] if len(done) > 1 else None)
    last = found[0] if found else None
    context = {
        "pin": own,
        "runs": found,
        "done": done,
        "run": last,
        "standing": runs.standing(last) if last else None,
        "old": old,
        "new": new,
        "comparison": compare(old.output or {}, new.output or {}) if old and new and old != new else None,
        "key": uuid.uuid4().hex,
        "problem": problem,
    }
    fragment = "#run-result" if request.htmx and status == 200 else ""  # type: ignore[attr-defined]
    return render(request, f"playground/pin.html{fragment}", context, status=status)


def _named(found: list[Run], name: str | None) -> Run | None:
    return next((run for run in found if str(run.pk) == name), None)


@require_POST
def pin_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask the pin once more, with new seeds for the trials."""
    own = _own(request, pk)
    key = request.POST.get("idempotency_key", "")[:60] or None
    if key and Run.objects.filter(owner=own.owner_id, idempotency_key=key).exists():
        return redirect("playground:pin", own.pk)
    if fault := kinds.remote_fault("drift"):
        return _page(request, own, problem=fault, status=422)
    body = {"pin": own.pk, **own.body, "seed": 1000 + secrets.randbelow(2**40)}
    try:
        run_create(owner=own.owner, kind="drift", input=body, idempotency_key=key)
    except QuotaExceeded as full:
        return _page(request, own, problem=str(full), status=429)
    return redirect("playground:pin", own.pk)


@require_POST
def pin_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget a pin; its runs and their traces stay."""
    _own(request, pk).delete()
    return redirect("playground:drift")
