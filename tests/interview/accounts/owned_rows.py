"""One row of every model that points at a user: the export and deletion tests walk this table.

A new model with an owner must be added here, or tests/interview/accounts/test_owned.py fails.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Model
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.services import token_create
from interview.calculators.models import SavedConfiguration
from interview.playground.models import Pin, Prompt
from interview.playground.prompts.services import prompt_create
from interview.practice.models import (
    Attempt,
    Dispute,
    Draft,
    InterviewSession,
    Review,
    ReviewCard,
    Ruling,
    SessionItem,
)
from interview.questions.content import content_from
from interview.questions.models import Question, QuestionVersion, RubricVersion
from interview.questions.own_services import question_write
from interview.runs.models import Run, RunShare
from interview.runs.traces import trace_write
from interview.tools.models import Order, Proposal, Refund
from tests.interview.accounts import teaching_rows
from tests.interview.accounts.mark import MARK, Maker
from tests.interview.documents import rows as documents
from tests.interview.lti import rows as lti

__all__ = ["DEPENDENT", "MARK", "OWNED", "TIES", "Maker", "make_everything"]


def api_token(owner: User, question: Question) -> Model:
    return token_create(owner=owner, name=MARK)[0]


def draft(owner: User, question: Question) -> Model:
    return Draft.objects.create(owner=owner, question=question, text=MARK)


def attempt(owner: User, question: Question) -> Attempt:
    assert question.rubric is not None
    return Attempt.objects.create(
        owner=owner, question=question, rubric=question.rubric, text=MARK, idempotency_key=uuid.uuid4().hex
    )


def review_card(owner: User, question: Question) -> Model:
    return ReviewCard.objects.create(
        owner=owner, question=question, state={"note": MARK}, due=timezone.now(), due_on=timezone.now().date()
    )


def review(owner: User, question: Question) -> Model:
    return Review.objects.create(
        owner=owner,
        attempt=attempt(owner, question),
        proposed=3,
        rating=3,
        before={"note": MARK},
        day=timezone.now().date(),
    )


def dispute(owner: User, question: Question) -> Model:
    return Dispute.objects.create(attempt=attempt(owner, question), note=MARK)


def ruling(owner: User, question: Question) -> Model:
    return Ruling.objects.create(
        dispute=Dispute.objects.create(attempt=attempt(owner, question)),
        author=owner,
        outcome="upheld",
        reason=MARK,
    )


def interview_session(owner: User, question: Question) -> InterviewSession:
    return InterviewSession.objects.create(owner=owner, minutes=5, topics=[MARK])


def session_item(owner: User, question: Question) -> Model:
    return SessionItem.objects.create(
        session=interview_session(owner, question), question=question, position=1, passed_probes=[MARK]
    )


def run(owner: User, question: Question) -> Run:
    return Run.objects.create(owner=owner, kind="generate", input={"prompt": MARK}, input_hash="0" * 64)


def trace(owner: User, question: Question) -> Model:
    return trace_write(run(owner, question), {"note": MARK})


def run_share(owner: User, question: Question) -> Model:
    return RunShare.objects.create(run=run(owner, question), key=f"{MARK} {uuid.uuid4().hex[:16]}")


def saved_configuration(owner: User, question: Question) -> Model:
    name = f"{MARK} {uuid.uuid4().hex[:8]}"
    return SavedConfiguration.objects.create(owner=owner, slug="kv-cache", name=name, query="v=1")


def own_question(owner: User, question: Question) -> Question:
    content = content_from({"uid": uuid.uuid4().hex, "prompt": MARK, "strong": MARK}, topics={"other"})
    return question_write(owner=owner, content=content)[0]


def question_version(owner: User, question: Question) -> Model:
    return QuestionVersion.objects.filter(question=own_question(owner, question)).get()


def rubric_version(owner: User, question: Question) -> Model:
    return RubricVersion.objects.filter(question=own_question(owner, question)).get()


def prompt(owner: User, question: Question) -> Prompt:
    return prompt_create(owner=owner, name=MARK, system="", body=MARK)


def prompt_version(owner: User, question: Question) -> Model:
    return prompt(owner, question).versions.get()


def pin(owner: User, question: Question) -> Model:
    return Pin.objects.create(owner=owner, name=MARK, body={"prompts": [MARK]})


def demo_order(owner: User, question: Question) -> Order:
    return Order.objects.create(owner=owner, number=uuid.uuid4().hex[:12], item=MARK, paid_cents=100)


def proposal(owner: User, question: Question) -> Proposal:
    return Proposal.objects.create(
        owner=owner, run=run(owner, question), tool="refund", arguments={"note": MARK}, words=MARK
    )


def refund(owner: User, question: Question) -> Model:
    return Refund.objects.create(
        order=demo_order(owner, question), proposal=proposal(owner, question), amount_cents=1, note=MARK
    )


# "model.field" of everything that points at a user, and the models that go with such a row.
OWNED: dict[str, Maker] = {
    "accounts.apitoken.owner": api_token,
    "playground.pin.owner": pin,
    "playground.prompt.owner": prompt,
    "calculators.savedconfiguration.owner": saved_configuration,
    "practice.attempt.owner": attempt,
    "practice.draft.owner": draft,
    "practice.interviewsession.owner": interview_session,
    "practice.review.owner": review,
    "practice.ruling.author": ruling,
    "practice.reviewcard.owner": review_card,
    "questions.question.owner": own_question,
    "runs.run.owner": run,
    **documents.OWNED,
    **lti.OWNED,
    **teaching_rows.OWNED,
}
OWNED |= {"tools.order.owner": demo_order, "tools.proposal.owner": proposal}
DEPENDENT: dict[str, Maker] = {
    "playground.promptversion": prompt_version,
    "tools.refund": refund,
    "practice.dispute": dispute,
    "practice.sessionitem": session_item,
    "questions.questionversion": question_version,
    "questions.rubricversion": rubric_version,
    "runs.runshare": run_share,
    "runs.trace": trace,
    **documents.DEPENDENT,
    **lti.DEPENDENT,
    **teaching_rows.DEPENDENT,
}
TIES = documents.TIES | {"lti.launch"}  # what a launch says is about whoever came by it


def make_everything(owner: User, question: Question) -> dict[str, Any]:
    """A row of each; by model label."""
    made = {name.rpartition(".")[0]: make(owner, question) for name, make in OWNED.items()}
    return {**made, **{name: make(owner, question) for name, make in DEPENDENT.items()}}
