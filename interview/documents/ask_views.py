"""Pages that put a question to documents: search, and ask. Each queues a run and shows it beside the form."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from interview.accounts.owners import owner_of, owner_or_guest
from interview.documents.forms import AskForm, SearchForm, form_values
from interview.documents.telling import told
from interview.plain_text import storable
from interview.runs import kinds
from interview.runs import selectors as runs
from interview.runs.models import Run
from interview.runs.services import IdempotencyConflict, QuotaExceeded, run_create

RECENT = 5
FORMS: dict[str, type[SearchForm]] = {"search": SearchForm, "ask": AskForm}


@require_http_methods(["GET", "HEAD", "POST"])
def search(request: HttpRequest) -> HttpResponse:
    """The nearest passages and why they are near."""
    return _question_page(request, "search")


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """A grounded answer with citations, or an abstention."""
    return _question_page(request, "ask")


def _question_page(request: HttpRequest, kind: str) -> HttpResponse:
    if request.method != "POST":
        return _shown(request, kind)
    owner = owner_or_guest(request)
    form = FORMS[kind](request.POST, reader=owner)
    fault = kinds.remote_fault(kind)
    if not form.is_valid() or fault:
        if fault:
            form.add_error(None, fault)
        return _page(request, kind, form, status=422)
    try:
        run = run_create(
            owner=owner,
            kind=kind,
            input=form.run_input(),
            origin=form.origin(),
            idempotency_key=form.cleaned_data["idempotency_key"],
        )
    except (QuotaExceeded, IdempotencyConflict) as refused:
        form.add_error(None, str(refused))
        return _page(request, kind, form, status=429 if isinstance(refused, QuotaExceeded) else 409)
    return redirect(f"{reverse(f'documents:{kind}')}?run={run.pk}")


def _shown(request: HttpRequest, kind: str) -> HttpResponse:
    run = _own_run(request, kind)
    given = {
        "question": storable(request.GET.get("question", ""))[:2000],
        "scope": request.GET.get("scope", "")[:60],
        "assignment": request.GET.get("assignment", "")[:60],
    }
    initial = {**form_values(run.input), **run.origin} if run else given
    form = FORMS[kind](initial={**initial, "idempotency_key": uuid.uuid4().hex}, reader=owner_of(request))
    return _page(request, kind, form, run=run)


def _own_run(request: HttpRequest, kind: str) -> Run | None:
    """The run named by `?run=`; 404 unless it is one of this owner and kind."""
    name = request.GET.get("run", "")
    if not name:
        return None
    try:
        run = runs.run_get(uuid.UUID(name), owner_of(request))
    except ValueError:
        run = None
    if run is None or run.kind != kind:
        raise Http404("No such run.")
    return run


def _page(
    request: HttpRequest, kind: str, form: SearchForm, *, run: Run | None = None, status: int = 200
) -> HttpResponse:
    owner = owner_of(request)
    context = {
        "form": form,
        "kind": kind,
        "run": run,
        "standing": runs.standing(run) if run else None,
        "told": told(run) if run else None,
        "trace": runs.trace_get(run) if run else None,
        "asked_for": getattr(form, "asked_for", None),
        "n_scopes": len(form.fields["scope"].choices) - 1,  # type: ignore[attr-defined]
        "remote_fault": kinds.remote_fault(kind),
    }
    if run and request.htmx:  # type: ignore[attr-defined]
        return render(request, "documents/_result.html", context)
    earlier = runs.run_list(owner).filter(kind=kind) if owner else Run.objects.none()
    context["recent"] = (earlier.exclude(pk=run.pk) if run else earlier)[:RECENT]
    return render(request, f"documents/{kind}.html", context, status=status)
