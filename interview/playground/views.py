"""Pages of the playground."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from interview.accounts.models import User
from interview.accounts.owners import owner_of, owner_or_guest
from interview.plain_text import storable
from interview.playground.forms import PROMPT_LIMIT, GenerateForm, form_values
from interview.runs import selectors as runs
from interview.runs.models import Run
from interview.runs.services import IdempotencyConflict, QuotaExceeded, run_create

RECENT = 5


@require_safe
def playground(request: HttpRequest) -> HttpResponse:
    """The pages of this room."""
    return render(request, "playground/playground.html")


@require_http_methods(["GET", "HEAD", "POST"])
def generate(request: HttpRequest) -> HttpResponse:
    """A prompt and its settings; sending it queues a run and goes to the run's page."""
    if request.method != "POST":
        run = _own_run(request)
        initial = (
            form_values(run.input)
            if run
            else {"prompt": storable(request.GET.get("prompt", ""))[:PROMPT_LIMIT]}
        )
        return _generate_page(
            request, GenerateForm(initial={**initial, "idempotency_key": uuid.uuid4().hex}), run=run
        )
    form = GenerateForm(request.POST)
    if not form.is_valid():
        return _generate_page(request, form, status=422)
    try:
        run = run_create(
            owner=owner_or_guest(request),
            kind="generate",
            input=form.request_body(),
            idempotency_key=form.cleaned_data["idempotency_key"],
        )
    except QuotaExceeded as full:
        form.add_error(None, str(full))
        return _generate_page(request, form, status=429)
    except IdempotencyConflict as conflict:
        form.add_error(None, str(conflict))
        return _generate_page(request, form, status=409)
    return redirect(f"{reverse('playground:generate')}?run={run.pk}")


def _own_run(request: HttpRequest) -> Run | None:
    """The run named by `?run=`; 404 unless it is a generation of this owner."""
    name = request.GET.get("run", "")
    if not name:
        return None
    try:
        run = runs.run_get(uuid.UUID(name), owner_of(request))
    except ValueError:
        run = None
    if run is None or run.kind != "generate":
        raise Http404("No such run.")
    return run


def _generate_page(
    request: HttpRequest, form: GenerateForm, *, run: Run | None = None, status: int = 200
) -> HttpResponse:
    owner = owner_of(request)
    context = {
        "form": form,
        "run": run,
        "standing": runs.standing(run) if run else None,
        "trace": runs.trace_get(run) if run else None,
        "recent": _earlier(owner, run),
    }
    return render(request, "playground/generate.html", context, status=status)


def _earlier(owner: User | None, shown: Run | None) -> QuerySet[Run] | list[Run]:
    """The owner's last generations but the one that is shown."""
    if owner is None:
        return []
    earlier = runs.run_list(owner).filter(kind="generate")
    return (earlier.exclude(pk=shown.pk) if shown else earlier)[:RECENT]
