"""Pages of progress: the map of topics and levels, and the history of one question."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from interview.accounts.owners import owner_of
from interview.practice import progress as progress_of
from interview.practice import review_selectors, selectors
from interview.questions.models import LEVELS, Question


@require_safe
def progress(request: HttpRequest) -> HttpResponse:
    """Where one stands, what changed, and which misconceptions are corrected since."""
    owner = owner_of(request)
    context = {
        "rows": progress_of.heat_map(owner) if owner else [],
        "levels": [level for level, _ in LEVELS],
        "answered": progress_of.answered_list(owner) if owner else [],
        "beliefs": progress_of.beliefs(owner) if owner else [],
        "streak": review_selectors.streak_of(owner) if owner else 0,
    }
    return render(request, "practice/progress.html", context)


@require_safe
def history(request: HttpRequest, question_id: str) -> HttpResponse:
    """One's answers to a question, each beside the one before; only for those who answered it."""
    owner = owner_of(request)
    question = Question.objects.select_related("topic").filter(pk=question_id).first()
    compared = progress_of.history(owner, question) if owner and question else []
    if not compared:
        raise Http404("You have not answered this question.")
    n_answers = selectors.attempt_list(owner).filter(question=question).count()
    context = {"question": question, "compared": compared, "n_answers": n_answers}
    return render(request, "practice/history.html", context)
