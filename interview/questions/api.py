"""JSON of the bank: never the rubric, never an answer."""

from __future__ import annotations

from typing import Annotated

from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import Field, Query, Router, Schema

from interview.accounts.owners import owner_of
from interview.plain_text import storable
from interview.questions import selectors
from interview.questions.models import Question

router = Router(tags=["questions"])


class QuestionOut(Schema):
    """A question as it is asked."""

    id: str
    title: str
    topic: str
    level: str
    prompt: str
    url: str


class QuestionsOut(Schema):
    """A page of questions."""

    count: int
    items: list[QuestionOut]


class QuestionFilter(Schema):
    """What narrows the list."""

    search: str = ""
    topic: str = ""
    level: str = ""
    limit: int = Field(50, ge=1, le=200)
    offset: int = Field(0, ge=0, le=100_000)


def question_out(question: Question) -> QuestionOut:
    """The public part of a question."""
    return QuestionOut(
        id=question.id,
        title=question.title,
        topic=question.topic_id,
        level=question.level,
        prompt=question.prompt,
        url=reverse("practice:question", args=[question.id]),
    )


@router.get("/questions", response=QuestionsOut)
def question_list(request: HttpRequest, filters: Annotated[QuestionFilter, Query()]) -> QuestionsOut:
    """Served questions, narrowed by words, topic and level."""
    found = selectors.question_list(
        search=storable(filters.search), topic=storable(filters.topic), level=storable(filters.level)
    )
    page = found[filters.offset : filters.offset + filters.limit]
    return QuestionsOut(count=found.count(), items=[question_out(question) for question in page])


@router.get("/questions/{question_id}", response=QuestionOut)
def question(request: HttpRequest, question_id: str) -> QuestionOut:
    """One question."""
    found = selectors.question_get(storable(question_id)[:80], owner_of(request))
    if found is None:
        raise Http404("No such question.")
    return question_out(found)
