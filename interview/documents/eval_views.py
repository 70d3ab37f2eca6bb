"""Pages of the evaluation: a set's figures with and without passages, kept and compared."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview.accounts.owners import owner_of, owner_or_guest
from interview.documents import eval_services, eval_tables
from interview.documents.forms import EvaluationForm, selection_of
from interview.documents.models import Evaluation
from interview.runs import kinds
from interview.runs import selectors as runs
from interview.runs.services import IdempotencyConflict, QuotaExceeded

SHOWN = 20


def _own(request: HttpRequest, evaluation_id: uuid.UUID) -> Evaluation:
    owner = owner_of(request)
    found = (
        Evaluation.objects.select_related("run").filter(pk=evaluation_id, owner=owner).first()
        if owner
        else None
    )
    if found is None:
        raise Http404("No such evaluation.")
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def evaluation_list(request: HttpRequest) -> HttpResponse:
    """Earlier evaluations side by side, and the form that begins one."""
    if request.method == "POST":
        return _begin(request)
    if name := request.GET.get("run", ""):
        return _of_run(request, name)
    form = EvaluationForm(reader=owner_of(request), initial={"idempotency_key": uuid.uuid4().hex})
    return _list(request, form)


def _of_run(request: HttpRequest, name: str) -> HttpResponse:
    """The evaluation that a run made."""
    owner = owner_of(request)
    try:
        found = Evaluation.objects.filter(run=uuid.UUID(name), owner=owner).first() if owner else None
    except ValueError:
        found = None
    if found is None:
        raise Http404("No such evaluation.")
    return redirect("documents:evaluation", evaluation_id=found.pk)


def _list(request: HttpRequest, form: EvaluationForm, status: int = 200) -> HttpResponse:
    owner = owner_of(request)
    found: Any = Evaluation.objects.filter(owner=owner).select_related("run") if owner else []
    evaluations = list(found.defer("questions")[:SHOWN]) if owner else []
    context = {
        "form": form,
        "evaluations": evaluations,
        "compared": eval_tables.compared(evaluations),
        "remote_fault": kinds.remote_fault("evaluate"),
    }
    return render(request, "documents/evaluation_list.html", context, status=status)


def _begin(request: HttpRequest) -> HttpResponse:
    owner = owner_or_guest(request)
    form = EvaluationForm(request.POST, request.FILES, reader=owner)
    fault = kinds.remote_fault("evaluate")
    if not form.is_valid() or fault:
        if fault:
            form.add_error(None, fault)
        return _list(request, form, status=422)
    data = form.cleaned_data
    try:
        made = eval_services.evaluation_create(
            owner=owner,
            name=form.set_name(),
            style=data["style"],
            questions=data["questions"],
            most=data["most"],
            selection=selection_of(data["scope"]),
            idempotency_key=data["idempotency_key"],
        )
    except (QuotaExceeded, IdempotencyConflict) as refused:
        form.add_error(None, str(refused))
        return _list(request, form, status=429)
    return redirect("documents:evaluation", evaluation_id=made.pk)


@require_safe
def evaluation(request: HttpRequest, evaluation_id: uuid.UUID) -> HttpResponse:
    """One evaluation with its figures, its curve and every question; `?format=json` gives them as a file."""
    found = _own(request, evaluation_id)
    if request.GET.get("format") == "json":
        if found.results is None:
            raise Http404("There are no results yet.")
        response = JsonResponse(
            {"name": found.name, "style": found.style, **found.results}, json_dumps_params={"indent": 2}
        )
        response["Content-Disposition"] = f'attachment; filename="evaluation-{found.pk}.json"'
        return response
    context = {
        "evaluation": found,
        "run": found.run,
        "standing": runs.standing(found.run) if found.run else None,
        "figures": eval_tables.figures(found),
        "chart": eval_tables.chart(found),
        "curve": eval_tables.curve(found),
        "rows": eval_tables.rows(found),
    }
    template = "documents/_evaluation.html" if request.htmx else "documents/evaluation.html"  # type: ignore[attr-defined]
    return render(request, template, context)


@require_POST
def evaluation_delete(request: HttpRequest, evaluation_id: uuid.UUID) -> HttpResponse:
    """Delete an evaluation."""
    found = _own(request, evaluation_id)
    eval_services.evaluation_delete(found)
    messages.success(request, f"The evaluation “{found.name}” is deleted.")
    return redirect("documents:evaluation_list")
