"""Pages of the daily review: what is due and how well it went."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from interview.accounts.owners import owner_of
from interview.practice import review_selectors, reviews, selectors
from interview.practice.charts import forecast_chart
from interview.practice.forms import RatingForm
from interview.practice.views import own_attempt
from interview.questions import selectors as questions

RECENT = 20


@require_safe
def practice(request: HttpRequest) -> HttpResponse:
    """What is due, what was begun, what was answered, and what the next days bring."""
    owner = owner_of(request)
    ahead = review_selectors.forecast(owner) if owner else []
    context = {
        "due": review_selectors.due_list(owner)[:RECENT],
        "n_due": ahead[0].count if ahead else 0,
        "upcoming": review_selectors.upcoming_list(owner)[:RECENT],
        "streak": review_selectors.streak_of(owner) if owner else 0,
        "ahead": ahead,
        "chart": forecast_chart(ahead) if any(day.count for day in ahead) else "",
        "drafts": selectors.draft_list(owner)[:RECENT],
        "attempts": selectors.attempt_list(owner)[:RECENT],
        "question": questions.question_of_the_day(),
    }
    return render(request, "practice/practice.html", context)


@require_POST
def rating(request: HttpRequest, attempt_id: uuid.UUID) -> HttpResponse:
    """Choose another rating than the verdict proposed."""
    own = own_attempt(request, attempt_id)
    form = RatingForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose one of the four ratings. Nothing was changed.")
        return redirect("practice:attempt", attempt_id=own.pk)
    try:
        card = reviews.rating_change(attempt=own, rating=form.cleaned_data["rating"])
    except reviews.RatingRefused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"Next review on {card.due_on:%A} {card.due_on.day} {card.due_on:%B}.")
    return redirect("practice:attempt", attempt_id=own.pk)
