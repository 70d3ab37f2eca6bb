"""Pages of disputes: the learner's own, and the reviewers' queue."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview.accounts.models import User
from interview.accounts.owners import owner_of
from interview.practice import dispute_selectors, disputes, selectors
from interview.practice.forms import RulingForm
from interview.practice.models import Dispute
from interview.practice.views import own_attempt

RECENT = 100


@require_POST
def dispute(request: HttpRequest, attempt_id: uuid.UUID) -> HttpResponse:
    """Say that a verdict is wrong, or take that back."""
    own = own_attempt(request, attempt_id)
    try:
        if "withdraw" in request.POST:
            disputes.dispute_withdraw(attempt=own)
        else:
            disputes.dispute_open(attempt=own, note=request.POST.get("note", ""))
    except disputes.DisputeRefused as refused:
        messages.error(request, str(refused))
    return redirect("practice:attempt", attempt_id=own.parent_id or own.pk)


@require_safe
def dispute_list(request: HttpRequest) -> HttpResponse:
    """The learner's disputes and what became of them; for reviewers also everybody's."""
    owner = owner_of(request)
    context = {"own": dispute_selectors.dispute_list(owner)[:RECENT] if owner else []}
    if _reviewer(request):
        context |= {
            "waiting": dispute_selectors.open_list()[:RECENT],
            "ruled": dispute_selectors.ruled_list()[:RECENT],
        }
    return render(request, "practice/disputes.html", context | {"reviewer": _reviewer(request) is not None})


@require_http_methods(["GET", "HEAD", "POST"])
def dispute_case(request: HttpRequest, attempt_id: uuid.UUID) -> HttpResponse:
    """One dispute for a reviewer: the answer without its writer's name, the verdict, and the ruling."""
    reviewer, case = _reviewer(request), dispute_selectors.case_get(attempt_id)
    if reviewer is None or case is None:
        raise Http404("No such dispute.")
    form = RulingForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            disputes.ruling_make(dispute=case, author=reviewer, **form.ruling())
        except disputes.DisputeRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, "The learner sees your ruling beside the verdict.")
            return redirect("practice:dispute_list")
    return render(
        request, "practice/dispute_case.html", _case(case, form), status=422 if form.errors else 200
    )


def _case(case: Dispute, form: RulingForm) -> dict[str, object]:
    return {
        "case": case,
        "attempt": case.attempt,
        "question": case.attempt.question,
        "verdict": selectors.verdict_view(case.attempt),
        "form": form,
    }


def _reviewer(request: HttpRequest) -> User | None:
    """Whoever asks, if they review: accounts marked as staff."""
    return request.user if isinstance(request.user, User) and request.user.is_staff else None
