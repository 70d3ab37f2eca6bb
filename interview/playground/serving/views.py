"""The serving page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from interview.playground import bench
from interview.playground.serving.form import ServingForm
from interview.playground.serving.seen import seen

SERVING = bench.Bench("serving", "serving", "playground/serving.html")


@require_http_methods(["GET", "HEAD", "POST"])
def serving(request: HttpRequest) -> HttpResponse:
    """The load's dials and, once it was served, what was measured beside what was predicted."""
    if request.method == "POST":
        form = ServingForm(request.POST)
        if not form.is_valid():
            return bench.show(request, SERVING, form, status=422)
        queued, status = bench.enqueue(request, SERVING, form, form.request_body())
        return bench.to_run(SERVING, queued) if queued else bench.show(request, SERVING, form, status=status)
    run = bench.own_run(request, SERVING)
    form = ServingForm(initial={**(run.input if run else {}), "idempotency_key": bench.new_key()})
    return bench.show(request, SERVING, form, run=run, context=seen(run))
