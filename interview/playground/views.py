"""The list of lessons, and the generate page."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview.plain_text import storable
from interview.playground import bench, generated
from interview.playground.forms import PROMPT_LIMIT, ForkForm, GenerateForm, form_values
from interview.playground.lessons import LESSONS
from interview.playground.presets import PRESETS, preset
from interview.runs.fits import size_fault
from interview.runs.models import Run

GENERATE = bench.Bench("generate", "generate", "playground/generate.html")


@require_safe
def playground(request: HttpRequest) -> HttpResponse:
    """The pages of this room, as a list of lessons."""
    return render(request, "playground/playground.html", {"lessons": LESSONS})


@require_safe
def documents(request: HttpRequest) -> HttpResponse:
    """Documents have a room of their own; questions point here."""
    return redirect("documents:document_list", permanent=True)


@require_http_methods(["GET", "HEAD", "POST"])
def generate(request: HttpRequest) -> HttpResponse:
    """A prompt and its settings; sending it queues a run that is shown beside the form."""
    if request.method != "POST":
        run = bench.own_run(request, GENERATE)
        token = generated.token_of(run, request.GET.get("token")) if run else None
        form = GenerateForm(initial={**_initial(request, run), "idempotency_key": bench.new_key()})
        panel = request.htmx.target == "token-panel"  # type: ignore[attr-defined]  # HtmxMiddleware
        partial = "token-panel" if panel else "run-result"
        return bench.show(
            request, GENERATE, form, run=run, partial=partial, context=_beside(request, run, token)
        )
    form = GenerateForm(request.POST)
    if not form.is_valid():
        return bench.show(request, GENERATE, form, status=422, context=_beside(request))
    queued, status = bench.enqueue(request, GENERATE, form, form.request_body())
    if queued:
        return bench.to_run(GENERATE, queued)
    return bench.show(request, GENERATE, form, status=status, context=_beside(request))


def _initial(request: HttpRequest, run: Run | None) -> dict[str, Any]:
    """The form's values: those of the shown run, of a preset, or a prompt that came with the link."""
    if run:
        return form_values(run.input)
    if chosen := preset(request.GET.get("preset", "")):
        return chosen.values
    return {"prompt": storable(request.GET.get("prompt", ""))[:PROMPT_LIMIT]}


def _beside(
    request: HttpRequest, run: Run | None = None, token: generated.Token | None = None
) -> dict[str, Any]:
    return {
        "presets": PRESETS,
        "preset": preset(request.GET.get("preset", "")),
        "token": token,
        "at": f"{GENERATE.url}?run={run.pk}" if run else "",
    }


@require_POST
def fork(request: HttpRequest) -> HttpResponse:
    """Go on from another token: what came before it is kept, token for token."""
    form = ForkForm(request.POST)
    if not form.is_valid():
        raise Http404("No such token.")
    source = bench.run_of(request, GENERATE, form.cleaned_data["run"])
    body = generated.forked(source, form.cleaned_data["index"], form.cleaned_data["token"])
    if fault := size_fault(body):
        form.add_error(None, fault)
        queued, status = None, 422
    else:
        queued, status = bench.enqueue(request, GENERATE, form, body)
    if queued:
        return bench.to_run(GENERATE, queued)
    page = GenerateForm(form_values(source.input) | {"idempotency_key": bench.new_key()})
    page.is_valid()
    for message in form.non_field_errors():
        page.add_error(None, message)
    return bench.show(request, GENERATE, page, run=source, status=status, context=_beside(request, source))
