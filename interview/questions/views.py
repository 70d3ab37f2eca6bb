"""The bank: list with search. Answering a question is practice's page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from interview.plain_text import storable
from interview.questions import selectors
from interview.questions.models import LEVELS


@require_safe
def question_list(request: HttpRequest) -> HttpResponse:
    """All questions by topic; search, topic and level narrow it, as a page or as the fragment."""
    search = storable(request.GET.get("q", ""))[:200].strip()
    topic = storable(request.GET.get("topic", ""))[:64]
    level = storable(request.GET.get("level", ""))[:16]
    context = {
        "questions": selectors.question_list(search=search, topic=topic, level=level),
        "topics": selectors.topic_list(),
        "levels": [name for name, _ in LEVELS],
        "search": search,
        "topic": topic,
        "level": level,
    }
    fragment = "#question-results" if request.htmx else ""  # type: ignore[attr-defined]
    return render(request, f"questions/question_list.html{fragment}", context)
