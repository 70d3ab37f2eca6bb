"""Topic pages: one request from text to billed answer, step by step, and the decision aid beside it."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from interview.plain_text import storable
from interview.questions import layers, selectors
from interview.questions.drawings import drawing_of
from interview.questions.topic_links import calculator_links, playground_links


@require_safe
def trace(request: HttpRequest) -> HttpResponse:
    """All topics in the order in which one request meets them."""
    return render(request, "questions/trace.html", {"topics": selectors.topic_list()})


@require_safe
def topic(request: HttpRequest, topic_id: str) -> HttpResponse:
    """A topic: its place on the way, drawing, primer, questions, calculators and playground pages."""
    topics = list(selectors.topic_list())
    at = next((index for index, found in enumerate(topics) if found.pk == topic_id), None)
    if at is None:
        raise Http404("No such topic.")
    questions = list(selectors.question_list(topic=topic_id))
    drawing = drawing_of(topic_id)
    context = {
        "topic": topics[at],
        "number": at + 1,
        "n_topics": len(topics),
        "before": topics[at - 1] if at else None,
        "after": topics[at + 1] if at + 1 < len(topics) else None,
        "questions": questions,
        "drawing": drawing,
        "picture": drawing.svg() if drawing else "",
        "calculators": calculator_links(questions),
        "playground": playground_links(questions),
    }
    return render(request, "questions/topic.html", context)


@require_safe
def which_layer(request: HttpRequest) -> HttpResponse:
    """From a requirement to the layer that should change; the address is the decision."""
    answers, problems = {}, {}
    for question in layers.QUESTIONS:
        given = storable(request.GET.get(question.name, ""))[:40]
        if given in question.values:
            answers[question.name] = given
        else:
            problems[question.name] = f"“{given}” is none of the answers, so “no” was taken."
    said = {name: value for name, value in answers.items() if value}
    path = reverse("questions:which_layer")
    context = {
        "fields": [
            (question, question.answers, answers.get(question.name, ""), problems.get(question.name, ""))
            for question in layers.QUESTIONS
        ],
        "layers": layers.decide(answers),
        "link": request.build_absolute_uri(f"{path}?{urlencode(said)}" if said else path),
    }
    return render(request, "questions/which_layer.html", context, status=422 if problems else 200)
