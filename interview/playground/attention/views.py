"""The attention page: a text, a layer, its heads, the row of one token."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from interview.plain_text import storable
from interview.playground import bench
from interview.playground.attention.form import PROMPT_LIMIT, AttentionForm
from interview.playground.attention.seen import head_of, seen, token_of
from interview.runs.models import SUCCEEDED, Run

ATTENTION = bench.Bench("attention", "attention", "playground/attention.html")


@require_http_methods(["GET", "HEAD", "POST"])
def attention(request: HttpRequest) -> HttpResponse:
    """The form and, once the pass was done, the map."""
    if request.method == "POST":
        form = AttentionForm(request.POST)
        if not form.is_valid():
            return bench.show(request, ATTENTION, form, status=422)
        queued, status = bench.enqueue(request, ATTENTION, form, form.request_body())
        return (
            bench.to_run(ATTENTION, queued) if queued else bench.show(request, ATTENTION, form, status=status)
        )
    run = bench.own_run(request, ATTENTION)
    form = AttentionForm(initial={**_initial(request, run), "idempotency_key": bench.new_key()})
    part = request.htmx.target == "attention-map"  # type: ignore[attr-defined]  # HtmxMiddleware
    return bench.show(
        request,
        ATTENTION,
        form,
        run=run,
        partial="map" if part else "run-result",
        context=_seen(request, run),
    )


def _initial(request: HttpRequest, run: Run | None) -> dict[str, Any]:
    if run:
        return {"prompt": run.input.get("prompt", ""), "layer": run.input["layer"]}
    prompt = storable(request.GET.get("prompt", ""))[:PROMPT_LIMIT]
    return {"prompt": prompt} if prompt else {}


def _seen(request: HttpRequest, run: Run | None) -> dict[str, Any]:
    if run is None or run.state != SUCCEEDED or not run.output:
        return {}
    head = head_of(run.output, request.GET.get("head"))
    token = token_of(run.output, request.GET.get("token"))
    at = f"{ATTENTION.url}?run={run.pk}"
    return {"seen": seen(run.output, head, token, at), "at": at}
