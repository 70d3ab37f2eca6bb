"""Makers of rows for tests: `make_x()` gives a valid one, keywords change it."""

from __future__ import annotations

import uuid
from typing import Any

from interview.accounts.models import User
from interview.practice.models import Attempt
from interview.practice.services import attempt_submit
from interview.questions.models import Question
from interview.runs.models import Run
from interview.runs.services import run_claim, run_create, run_succeed

ANSWER = (
    "Every token leaves its keys and values behind in each layer, so the KV cache grows linearly with the context. "
    "In prefill each token attends to all earlier ones, so attention work grows with the square of the prompt."
)


def make_run(owner: User, *, kind: str = "generate", **input: Any) -> Run:
    """A queued run; its message goes to the test's Valkey where no worker listens."""
    body = {"messages": [{"role": "user", "content": "Say hello."}], "sampling": {"max_tokens": 8}}
    return run_create(owner=owner, kind=kind, input={**body, **input})


def make_attempt(owner: User, question: Question, *, text: str = ANSWER) -> Attempt:
    """A submitted answer waiting for its assessment."""
    return attempt_submit(owner=owner, question=question, text=text, idempotency_key=uuid.uuid4().hex)


def grade(attempt: Attempt, verdict: dict[str, Any] | None = None) -> Attempt:
    """An attempt whose run has ended with this verdict."""
    run = run_claim(str(attempt.run_id), worker="host:1")
    assert run is not None
    run_succeed(run, verdict or verdict_for(attempt), {})
    attempt.refresh_from_db()
    return attempt


def verdict_for(attempt: Attempt, *, state: str = "met", score: float = 1.0) -> dict[str, Any]:
    """A verdict in the grader's shape with every point in one state (for pages, not for grading tests)."""
    return {
        "score": score,
        "verdict": "correct" if score == 1 else "incorrect",
        "points": [
            {
                "id": point["id"],
                "state": state,
                "evidence": [0, 10] if state != "missing" else None,
                "why": "because",
            }
            for point in attempt.rubric.body["points"]
        ],
        "misconceptions": [],
        "flags": [],
        "grader": "test-1",
    }
