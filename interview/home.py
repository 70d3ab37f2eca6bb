"""The front door."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from interview.accounts.owners import owner_of
from interview.calculators.formulas.registry import find, run
from interview.plain_text import word_count
from interview.practice.selectors import draft_get
from interview.questions import selectors as questions

KV_TOKENS = 32_768  # where the home page's slider stands at first


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Question of the day, one calculator with live numbers, the model, topics and teaching."""
    question = questions.question_of_the_day()
    draft = draft_get(owner_of(request), question) if question else None
    text = draft.text if draft else ""
    return render(
        request,
        "home.html",
        {
            "question": question,
            "draft": draft,
            "text": text,
            "n_words": word_count(text),
            "topics": questions.topic_list(),
            "idempotency_key": uuid.uuid4().hex,
            "kv_tokens": KV_TOKENS,
            "kv": run(find("kv-cache"), {"tokens": str(KV_TOKENS)}).result,
        },
    )


@require_safe
def patterns(request: HttpRequest) -> HttpResponse:
    """Every component on one page (debug only)."""
    return render(request, "patterns.html")
