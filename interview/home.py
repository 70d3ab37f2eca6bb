"""The front door."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from interview.questions import selectors as questions


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Question of the day, one calculator with live numbers, the model, topics and teaching."""
    return render(
        request,
        "home.html",
        {
            "question": questions.question_of_the_day(),
            "topics": questions.topic_list(),
            "idempotency_key": uuid.uuid4().hex,
        },
    )


@require_GET
def patterns(request: HttpRequest) -> HttpResponse:
    """Every component on one page (debug only)."""
    return render(request, "patterns.html")
