"""The trials page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from interview.plain_text import storable
from interview.playground import bench
from interview.playground.trials.form import PROMPT_LIMIT, TWO_AND_TWO, TrialsForm, trials_values
from interview.playground.trials.seen import settings_seen
from interview.runs.models import SUCCEEDED, Run

TRIALS = bench.Bench("trials", "trials", "playground/trials.html")


@require_http_methods(["GET", "HEAD", "POST"])
def trials(request: HttpRequest) -> HttpResponse:
    """The form and, once all answers are there, what they say."""
    if request.method == "POST":
        form = TrialsForm(request.POST)
        if not form.is_valid():
            return bench.show(request, TRIALS, form, status=422)
        queued, status = bench.enqueue(request, TRIALS, form, form.request_body())
        return bench.to_run(TRIALS, queued) if queued else bench.show(request, TRIALS, form, status=status)
    run = bench.own_run(request, TRIALS)
    form = TrialsForm(initial={**_initial(request, run), "idempotency_key": bench.new_key()})
    ready = run is not None and run.state == SUCCEEDED and bool(run.output)
    context = {"settings": settings_seen(run.input, run.output or {})} if run and ready else {}
    return bench.show(request, TRIALS, form, run=run, context=context)


def _initial(request: HttpRequest, run: Run | None) -> dict[str, Any]:
    if run:
        return trials_values(run.input)
    prompt = storable(request.GET.get("prompt", ""))[:PROMPT_LIMIT]
    return {**TWO_AND_TWO, "prompt": prompt, "rule": "none", "wanted": ""} if prompt else TWO_AND_TWO
