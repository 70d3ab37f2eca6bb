"""Pages of the playground."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from interview.accounts.owners import owner_of, owner_or_guest
from interview.playground.forms import GenerateForm
from interview.runs import selectors as runs
from interview.runs.services import IdempotencyConflict, QuotaExceeded, run_create

RECENT = 5


@require_GET
def playground(request: HttpRequest) -> HttpResponse:
    """The pages of this room."""
    return render(request, "playground/playground.html")


@require_http_methods(["GET", "POST"])
def generate(request: HttpRequest) -> HttpResponse:
    """A prompt and its settings; sending it queues a run and goes to the run's page."""
    if request.method == "GET":
        initial = {"idempotency_key": uuid.uuid4().hex, "prompt": request.GET.get("prompt", "")[:2000]}
        return _generate_page(request, GenerateForm(initial=initial))
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
    return redirect("runs:run", run_id=run.pk)


def _generate_page(request: HttpRequest, form: GenerateForm, status: int = 200) -> HttpResponse:
    owner = owner_of(request)
    recent = runs.run_list(owner).filter(kind="generate")[:RECENT] if owner else []
    return render(request, "playground/generate.html", {"form": form, "recent": recent}, status=status)
