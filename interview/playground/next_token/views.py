"""The next-token page: read a text, move the dials, pick or draw a token, undo."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_http_methods, require_POST

from interview.calculators.formulas.sampling_steps import Settings
from interview.plain_text import storable
from interview.playground import bench
from interview.playground.next_token import seen
from interview.playground.next_token.form import (
    LONGEST,
    NEUTRAL,
    PROMPT_LIMIT,
    DialForm,
    StepForm,
    TextForm,
    text_values,
)
from interview.runs.fits import size_fault
from interview.runs.models import SUCCEEDED, Run

NEXT_TOKEN = bench.Bench("next-token", "next-token", "playground/next_token.html")


@require_http_methods(["GET", "HEAD", "POST"])
def next_token(request: HttpRequest) -> HttpResponse:
    """The text and, once it was read, the distribution under the dials."""
    if request.method == "POST":
        return _read(request)
    run = bench.own_run(request, NEXT_TOKEN)
    form = TextForm(initial={**_initial(request, run), "idempotency_key": bench.new_key()})
    dials = request.htmx.target == "kept"  # type: ignore[attr-defined]  # HtmxMiddleware
    return bench.show(
        request,
        NEXT_TOKEN,
        form,
        run=run,
        partial="kept-set" if dials else "run-result",
        context=_seen(request, run),
    )


def _read(request: HttpRequest) -> HttpResponse:
    form = TextForm(request.POST)
    if not form.is_valid():
        return bench.show(request, NEXT_TOKEN, form, status=422)
    run, status = bench.enqueue(request, NEXT_TOKEN, form, form.request_body())
    return bench.to_run(NEXT_TOKEN, run) if run else bench.show(request, NEXT_TOKEN, form, status=status)


def _initial(request: HttpRequest, run: Run | None) -> dict[str, Any]:
    if run:
        return text_values(run.input)
    prompt = storable(request.GET.get("prompt", ""))[:PROMPT_LIMIT]
    return {"prompt": prompt} if prompt else {}


def _seen(request: HttpRequest, run: Run | None) -> dict[str, Any]:
    """The distribution under the dials of the address, or under those of the run."""
    if run is None or run.state != SUCCEEDED or not run.output:
        return {}
    given = {name: request.GET[name] for name in DialForm.base_fields if name in request.GET}
    dials = DialForm({**NEUTRAL, **run.input.get("sampling", {}), **given})
    settings = dials.settings() if dials.is_valid() else Settings()
    return {
        "dials": dials,
        "seen": seen.distribution(run.output, settings),
        "norms": mark_safe(seen.norm_chart(run.output)),
        "step_key": bench.new_key(),
    }


@require_POST
def next_token_step(request: HttpRequest) -> HttpResponse:
    """Append a token, picked or drawn, and read on."""
    form = StepForm(request.POST)
    if "run" not in form.data or form.errors.keys() & {"run", "token", "idempotency_key"}:
        raise Http404("No such run.")
    source = bench.run_of(request, NEXT_TOKEN, str(form.cleaned_data["run"]))
    if source.state != SUCCEEDED or not source.output:
        raise Http404("This step isn't there yet.")
    if not form.is_valid():
        text = TextForm(initial={**text_values(source.input), "idempotency_key": bench.new_key()})
        context = {**_seen(request, source), "dials": form}
        return bench.show(request, NEXT_TOKEN, text, run=source, status=422, context=context)
    body = _stepped(source, form.cleaned_data, form.sampling())
    run, status = _queued(request, form, body)
    if run:
        return bench.to_run(NEXT_TOKEN, run)
    text = TextForm({**text_values(source.input), "idempotency_key": bench.new_key()})
    text.is_valid()
    text.add_error(None, " ".join(str(message) for message in form.non_field_errors()))
    return bench.show(request, NEXT_TOKEN, text, run=source, status=status, context=_seen(request, source))


def _queued(request: HttpRequest, form: StepForm, body: dict[str, Any]) -> tuple[Run | None, int]:
    """The next step's run, unless the text has grown past what the page looks at."""
    if fault := size_fault(body, most=LONGEST):
        form.add_error(None, fault)
        return None, 422
    return bench.enqueue(request, NEXT_TOKEN, form, body)


def _stepped(source: Run, data: dict[str, Any], sampling: dict[str, Any]) -> dict[str, Any]:
    """The input of the next step. A picked token must be one that the page showed."""
    output: dict[str, Any] = source.output or {}
    kept = {key: source.input[key] for key in ("prompt", "messages") if key in source.input}
    body = {**kept, "sampling": sampling, "previous": str(source.pk), "continue_ids": output["continue_ids"]}
    if data["token"] is None:
        body["draw"] = {} if data["seed"] is None else {"seed": data["seed"]}
    elif data["token"] in [row[0] for row in output["top"]]:
        body["continue_ids"] = [*output["continue_ids"], data["token"]]
    else:
        raise Http404("No such token.")
    key = f"{data['idempotency_key']}-{data['token'] if data['token'] is not None else 'draw'}"
    data["idempotency_key"] = key[:60]
    return body
