"""Pages about what a run left: its trace, comparing two, replaying it, and letting go of it."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from interview.runs import comparison, retention, selectors
from interview.runs.batch_sizes import batch_sizes
from interview.runs.chain import canonical_hash
from interview.runs.models import Trace
from interview.runs.quotas import QuotaExceeded
from interview.runs.replay import CannotReplay, run_replay
from interview.runs.views import own_run

# Parts of a trace that only some kinds have, with their titles on its page.
DETAILS = {
    "prompt_template": "Prompt template",
    "constraint": "Constraint",
    "retrieval": "Retrieval",
    "validation": "Validation",
    "calls": "Tool calls",
    "history": "Earlier attempts",
    "origin": "Where it comes from",
}
OTHERS = 20  # runs offered for comparison
NO_TRACE = "This run has no trace: it is written when the run ends, and gone when its texts were erased."


@require_safe
def trace(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The immutable record of a run, as a page or (`?format=json`) as a file."""
    run = own_run(request, run_id)
    record = selectors.trace_get(run)
    if record is None:
        raise Http404(NO_TRACE)
    if request.GET.get("format") == "json":
        return trace_file(record)
    context = {
        "run": run,
        "trace": record,
        "body": readable(record.body),
        "details": details(record.body),
        "texts_kept": not any(map(is_erased, record.body.values())),
        "raw": json.dumps(record.body, indent=2, ensure_ascii=False),
        "batch": batch_sizes(record.body),
        "intact": canonical_hash(record.body) == record.hash,
        "others": selectors.run_list(run.owner)
        .filter(kind=run.kind, trace__isnull=False)
        .exclude(pk=run.pk)[:OTHERS],
    }
    return render(request, "runs/trace.html", context)


def is_erased(value: Any) -> bool:
    """Whether a hash stands here in place of a text (TRACE_TEXT=hash)."""
    return isinstance(value, dict) and value.get("erased") is True


def readable(body: dict[str, Any]) -> dict[str, Any]:
    """The fields that can be read: without those that are only a hash."""
    return {name: value for name, value in body.items() if not is_erased(value)}


def details(body: dict[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """(title, fields) of the parts that only some kinds of run have."""
    parts = [(title, readable(body).get(name)) for name, title in DETAILS.items()]
    return [(title, list(comparison.flat(part))) for title, part in parts if part]


def trace_file(record: Trace) -> HttpResponse:
    """A trace as a JSON file, with its hash and its link of the chain."""
    link = record.entry
    body = {
        "hash": record.hash,
        "link": {"sequence": link.sequence, "previous": link.previous, "hash": link.hash},
        "trace": record.body,
    }
    response = JsonResponse(body, json_dumps_params={"indent": 2})
    response["Content-Disposition"] = f'attachment; filename="trace-{record.run_id}.json"'
    return response


@require_POST
def erase(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Erase an ended run's texts and trace for good."""
    run = own_run(request, run_id)
    if retention.run_erase(run):
        messages.success(request, "The texts of this run and its trace are erased.")
    return redirect("runs:run", run_id=run.pk)


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Two of one's own traces side by side (`?a=` and `?b=` name their runs)."""
    records = [_named(request, name) for name in ("a", "b")]
    context = {
        "a": records[0],
        "b": records[1],
        "comparison": comparison.compare(records[0].body, records[1].body),
    }
    return render(request, "runs/compare.html", context)


def _named(request: HttpRequest, name: str) -> Trace:
    try:
        run = own_run(request, uuid.UUID(request.GET.get(name, "")))
    except ValueError as error:
        raise Http404("Name two of your runs by ?a= and ?b=.") from error
    record = selectors.trace_get(run)
    if record is None:
        raise Http404(NO_TRACE)
    return record


@require_POST
def replay(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Queue the same request with everything pinned, and go to its page."""
    run = own_run(request, run_id)
    try:
        again = run_replay(run, run.owner)
    except (CannotReplay, QuotaExceeded) as refusal:
        messages.error(request, str(refusal))
        return redirect("runs:run", run_id=run.pk)
    return redirect("runs:run", run_id=again.pk)
