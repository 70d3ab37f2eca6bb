"""JSON of practice: submit an answer, read its verdict."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import Field, Router, Schema, Status

from interview.accounts.api_auth import session_or_token
from interview.accounts.models import User
from interview.practice import selectors, services
from interview.practice.models import ANSWER_LIMIT, Attempt
from interview.questions import selectors as questions

router = Router(tags=["practice"], auth=session_or_token)


class AttemptIn(Schema):
    """An answer to a question of the bank."""

    question: str = Field(max_length=80)
    answer: str = Field(max_length=ANSWER_LIMIT)
    idempotency_key: str = Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9_-]+$")


class AttemptOut(Schema):
    """An attempt; `verdict` is null until it is assessed."""

    id: uuid.UUID
    question: str
    answer: str
    created: datetime
    state: str
    run: uuid.UUID | None
    verdict: dict[str, Any] | None
    strong_answer: str | None
    url: str


def attempt_out(attempt: Attempt) -> AttemptOut:
    """An attempt as JSON; the strong answer only after the own one is assessed."""
    state = "graded" if attempt.verdict else attempt.run.state if attempt.run else "failed"
    return AttemptOut(
        id=attempt.pk,
        question=attempt.question_id,
        answer=attempt.text,
        created=attempt.created,
        state=state,
        run=attempt.run_id,
        verdict=attempt.verdict,
        strong_answer=attempt.question.strong if attempt.verdict else None,
        url=reverse("practice:attempt", args=[attempt.parent_id or attempt.pk]),
    )


def _owner(request: HttpRequest) -> User:
    return request.auth  # type: ignore[attr-defined, no-any-return]


@router.post("/attempts", response={202: AttemptOut})
def attempt_create(request: HttpRequest, body: AttemptIn) -> Status[AttemptOut]:
    """Submit an answer; the same key and text again give the same attempt."""
    question = questions.question_get(body.question, _owner(request))
    if question is None:
        raise Http404("No such question.")
    attempt = services.attempt_submit(
        owner=_owner(request), question=question, text=body.answer, idempotency_key=body.idempotency_key
    )
    return Status(202, attempt_out(attempt))


@router.get("/attempts/{attempt_id}", response=AttemptOut)
def attempt(request: HttpRequest, attempt_id: uuid.UUID) -> AttemptOut:
    """One of one's own attempts."""
    own = selectors.attempt_get(attempt_id, _owner(request))
    if own is None:
        raise Http404("No such attempt.")
    return attempt_out(own)
