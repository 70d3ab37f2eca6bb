"""The structured-output page: a contract, with and without the constraint, stage by stage."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from interview.playground import bench
from interview.playground.structured.contracts import CONTRACTS
from interview.playground.structured.form import OFFER, StructuredForm, form_values
from interview.playground.structured.seen import seen
from interview.runs.models import Run

STRUCTURED = bench.Bench("structured-output", "structured", "playground/structured_output.html")


@require_http_methods(["GET", "HEAD", "POST"])
def structured_output(request: HttpRequest) -> HttpResponse:
    """The form and, once they ran, the trials."""
    if request.method == "POST":
        return _queued(request)
    run = bench.own_run(request, STRUCTURED)
    form = StructuredForm(initial={**_initial(request, run), "idempotency_key": bench.new_key()})
    return bench.show(request, STRUCTURED, form, run=run, context=_context(run))


def _queued(request: HttpRequest) -> HttpResponse:
    form = StructuredForm(request.POST)
    if not form.is_valid():
        return bench.show(request, STRUCTURED, form, status=422, context=_context(None))
    run, status = bench.enqueue(request, STRUCTURED, form, form.cleaned_data["body"])
    return bench.to_run(STRUCTURED, run) if run else bench.show(request, STRUCTURED, form, status=status, context=_context(None))  # fmt: skip


def _initial(request: HttpRequest, run: Run | None) -> dict[str, Any]:
    if run is not None:
        return form_values(run.input)
    contract = request.GET.get("contract", "")
    return {"contract": contract, "source": CONTRACTS[contract].sample} if contract in CONTRACTS else {}


def _context(run: Run | None) -> dict[str, Any]:
    context: dict[str, Any] = {"contracts": CONTRACTS.items(), "offer": OFFER}
    return context if run is None else context | seen(run)
