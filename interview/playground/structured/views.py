"""The structured-output page: a contract, with and without the constraint, stage by stage."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from interview.playground import bench
from interview.playground.structured.contracts import CONTRACTS
from interview.playground.structured.form import OFFER, StructuredForm, form_values
from interview.playground.structured.kind import title_of
from interview.playground.trials.statistics import wilson
from interview.runs.models import Run

STRUCTURED = bench.Bench("structured-output", "structured", "playground/structured_output.html")
MEASURES = (
    ("parsed", "parse: one JSON value, no key twice"),
    ("schema", "schema: fits the JSON schema"),
    ("semantics", "semantics: keeps the rules too"),
    ("truncated", "cut off at the token limit"),
    ("final", "valid at the end, retries included"),
)


@require_http_methods(["GET", "HEAD", "POST"])
def structured_output(request: HttpRequest) -> HttpResponse:
    """The form and, once they ran, the trials."""
    if request.method == "POST":
        return _queued(request)
    run = bench.own_run(request, STRUCTURED)
    form = StructuredForm(initial={**_initial(request, run), "idempotency_key": bench.new_key()})
    return bench.show(request, STRUCTURED, form, run=run, context=_seen(run))


def _queued(request: HttpRequest) -> HttpResponse:
    form = StructuredForm(request.POST)
    if not form.is_valid():
        return bench.show(request, STRUCTURED, form, status=422, context=_seen(None))
    run, status = bench.enqueue(request, STRUCTURED, form, form.cleaned_data["body"])
    return bench.to_run(STRUCTURED, run) if run else bench.show(request, STRUCTURED, form, status=status, context=_seen(None))  # fmt: skip


def _initial(request: HttpRequest, run: Run | None) -> dict[str, Any]:
    if run is not None:
        return form_values(run.input)
    contract = request.GET.get("contract", "")
    return {"contract": contract, "source": CONTRACTS[contract].sample} if contract in CONTRACTS else {}


def _seen(run: Run | None) -> dict[str, Any]:
    context: dict[str, Any] = {"contracts": CONTRACTS.items(), "offer": OFFER}
    if run is None:
        return context
    context |= {
        "title": title_of(run),
        "schema": json.dumps(run.input["schema"], indent=2, ensure_ascii=False),
    }
    known = CONTRACTS.get(run.input["contract"])
    context["rules"] = known.rules if known else ()
    if run.output:
        context |= {"measures": measures(run.output["conditions"]), "steps": run.output["steps"]}
        context["forced"] = sum(step["forced"] for step in run.output["steps"])
    return context


def measures(conditions: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a measure: the count and its 95% interval under each condition."""
    return [
        {"label": label, "cells": [_cell(part["rates"], name) for part in conditions.values()]}
        for name, label in MEASURES
    ]


def _cell(found: dict[str, int], name: str) -> dict[str, Any]:
    interval = wilson(found[name], found["trials"])
    return {
        "count": found[name],
        "trials": found["trials"],
        "low": round(100 * interval.low),
        "high": round(100 * interval.high),
    }
