"""Pages of a measurement: asking for one, and reading predicted beside measured."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from interview.accounts.owners import owner_of, owner_or_guest
from interview.calculators.formulas.units import number_text
from interview.calculators.kinds import KIND, MEASURES, outcome_of
from interview.calculators.measuring.proof import CLOSE, EXACT
from interview.calculators.scales import reading
from interview.calculators.views import posted, respond, wants_fragment
from interview.runs import selectors as runs
from interview.runs.kinds import InputRefused, checked_input
from interview.runs.models import Run
from interview.runs.services import QuotaExceeded, run_create


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of a proof as the table draws it."""

    label: str
    predicted: str
    measured: str
    verdict: str
    note: str
    is_equal: bool | None


@require_POST
def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Queue a measurement of the query in the form; answers with its place in the queue."""
    if slug not in MEASURES:
        raise Http404("This calculator can't be measured.")
    given = {"query": posted(request).urlencode(), "prompt": request.POST.get("prompt", "")}
    try:
        body = checked_input(KIND, {"calculator": slug, **given})
        run = run_create(owner=owner_or_guest(request), kind=KIND, input=body)
    except (InputRefused, QuotaExceeded) as refused:
        status = 429 if isinstance(refused, QuotaExceeded) else 422
        fragment = wants_fragment(request)
        template = "calculators/_proof_refused.html" if fragment else "calculators/proof_refused.html"
        context = {"slug": slug, "query": given["query"], "message": str(refused)}
        return render(request, template, context, status=200 if fragment else status)
    if wants_fragment(request):
        return render(request, "calculators/_proof.html", proof_context(run))
    return redirect(f"{reverse('calculators:proof')}?run={run.pk}")


@require_safe
def proof(request: HttpRequest) -> HttpResponse:
    """The calculator with the measurement that `?run=` names; the fragment while it is waited for."""
    run = _own(request)
    if wants_fragment(request):
        return render(request, "calculators/_proof.html", proof_context(run))
    return respond(request, outcome_of(run.input), extra=proof_context(run))


def _own(request: HttpRequest) -> Run:
    try:
        run = runs.run_get(uuid.UUID(request.GET.get("run", "")), owner_of(request))
    except ValueError:
        run = None
    if run is None or run.kind != KIND:
        raise Http404("No such measurement.")
    return run


def proof_context(run: Run) -> dict[str, Any]:
    """What `_proof.html` needs."""
    output = run.output or {}
    return {
        "run": run,
        "standing": runs.standing(run),
        "slug": run.input["calculator"],
        "proof": output if output.get("rows") else None,
        "rows": [shown(row) for row in output.get("rows", [])],
    }


def shown(row: dict[str, Any]) -> ShownRow:
    """A stored row with its numbers as text."""
    unit, predicted, measured = row["unit"], row["predicted"], row["measured"]
    return ShownRow(
        label=row["label"],
        predicted="" if predicted is None else _said(predicted, unit),
        measured=_said(measured, unit),
        verdict=_verdict(row["kind"], predicted, measured),
        note=row["note"],
        is_equal=predicted == measured if row["kind"] == EXACT else None,
    )


def _said(value: float, unit: str) -> str:
    if unit == "s":
        return reading(value, unit)
    if unit == "bytes/s":
        return f"{number_text(value / 1e9, 3)} GB/s"
    if unit == "FLOP/s":
        return f"{number_text(value / 1e9, 3)} GFLOP/s"
    if isinstance(value, float) and not value.is_integer():
        return f"{number_text(value, 4)} {unit}".strip()
    return f"{number_text(int(value))} {unit}".strip()


def _verdict(kind: str, predicted: float | None, measured: float) -> str:
    if predicted is None:
        return ""
    if predicted == measured:
        return "equal"
    if kind == EXACT:
        return f"differs by {number_text(measured - predicted)}"
    if not predicted or not measured:
        return ""
    if kind == CLOSE:
        return f"× {number_text(measured / predicted, 3)}"
    return f"{number_text(predicted / measured, 3)} × too much"
