"""JSON of teaching: one's classes, gradebooks, and points given by a program."""

from __future__ import annotations

import uuid
from datetime import datetime
from decimal import Decimal

from django.http import Http404, HttpRequest
from ninja import Field, Router, Schema

from interview.accounts.api_auth import ApiRefused, account_or_token
from interview.accounts.models import User
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import STAFF, Answer, Assignment, Override
from interview.teaching.rights import Seat, seat_of
from interview.teaching.scoring import rounded
from interview.teaching.selectors import assignments, classes, gradebook
from interview.teaching.services.grading import override_points, override_remove
from interview.teaching.services.work import attempts_settle

router = Router(tags=["teaching"], auth=account_or_token)


class ClassOut(Schema):
    """A class as one of its members sees it."""

    id: uuid.UUID
    name: str
    role: str
    time_zone: str
    archived: bool


class AssignmentOut(Schema):
    """An assignment with its dates, in UTC; `of` is the sum of its points."""

    id: uuid.UUID
    title: str
    opens: datetime
    due: datetime
    late_until: datetime | None
    questions: int
    of: float


class AnswerOut(Schema):
    """An answer's points; `points` is null while nobody has assessed it."""

    question: str
    points: float | None
    of: float
    by_a_teacher: bool


class LearnerOut(Schema):
    """A learner's counted attempt: `points` is what was `earned` less the `late_penalty`."""

    member: int
    name: str
    number: str
    state: str
    handed_in: datetime | None
    earned: float | None
    late_credit_percent: int | None
    late_penalty: float | None
    points: float | None
    answers: list[AnswerOut]


class GradebookOut(Schema):
    """An assignment's gradebook."""

    assignment: uuid.UUID
    title: str
    of: float
    learners: list[LearnerOut]


class OverrideIn(Schema):
    """Points for one answer of a learner's counted attempt, with the reason that the learner reads."""

    member: int
    question: str = Field(max_length=80)
    points: Decimal = Field(ge=0, le=1000, max_digits=6, decimal_places=2)
    reason: str = Field(min_length=1, max_length=500)


def _seat(request: HttpRequest, class_id: uuid.UUID, *, writes: bool = False) -> Seat:
    user: User = request.auth  # type: ignore[attr-defined]
    try:
        return seat_of(user, class_id, STAFF, writes=writes)
    except TeachingRefused as refusal:
        raise ApiRefused(409, refusal.code, str(refusal)) from refusal


def _assignment(seat: Seat, assignment_id: uuid.UUID) -> Assignment:
    found = assignments.assignment_get(seat.classroom, assignment_id)
    if found is None:
        raise Http404("No such assignment.")
    attempts_settle(assignment=found)
    return found


@router.get("/classes", response=list[ClassOut])
def class_list(request: HttpRequest) -> list[ClassOut]:
    """The classes one is in."""
    user: User = request.auth  # type: ignore[attr-defined]
    return [
        ClassOut(
            id=seat.classroom_id,
            name=seat.classroom.name,
            role=seat.role,
            time_zone=seat.classroom.time_zone,
            archived=seat.classroom.archived is not None,
        )
        for seat in classes.seat_list(user)
    ]


@router.get("/classes/{uuid:class_id}/assignments", response=list[AssignmentOut])
def assignment_list(request: HttpRequest, class_id: uuid.UUID) -> list[AssignmentOut]:
    """A class's assignments by due date; for staff."""
    seat = _seat(request, class_id)
    names = ("pk", "title", "opens", "due", "late_until", "n_questions", "sum_points")
    return [
        AssignmentOut(
            id=row["pk"],
            title=row["title"],
            opens=row["opens"],
            due=row["due"],
            late_until=row["late_until"],
            questions=row["n_questions"],
            of=float(row["sum_points"] or 0),
        )
        for row in assignments.assignment_list(seat.classroom).values(*names)
    ]


@router.get("/classes/{uuid:class_id}/assignments/{uuid:assignment_id}/gradebook", response=GradebookOut)
def gradebook_get(request: HttpRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> GradebookOut:
    """Every learner's counted attempt with its points per question; for staff."""
    book = gradebook.matrix(_assignment(_seat(request, class_id), assignment_id))
    return GradebookOut(
        assignment=book.assignment.pk,
        title=book.assignment.title,
        of=float(book.total),
        learners=[_learner(book, row) for row in book.rows],
    )


def _learner(book: gradebook.Matrix, row: gradebook.Row) -> LearnerOut:
    cells = [(item, row.cells.get(item.pk)) for item in book.items]
    score = row.score
    known = score is not None and score.earned is not None
    return LearnerOut(
        member=row.seat.pk,
        name=row.seat.shown_name,
        number=row.seat.number,
        state=row.state,
        handed_in=score.submission.submitted if score else None,
        earned=float(rounded(score.earned)) if score and score.earned is not None else None,
        late_credit_percent=score.credit if score else None,
        late_penalty=float(score.penalty) if score and known else None,
        points=None if row.points is None else float(row.points),
        answers=[
            AnswerOut(
                question=item.question_id,
                points=cell.points,
                of=float(item.points),
                by_a_teacher=cell.overridden,
            )
            for item, cell in cells
            if cell is not None
        ],
    )


@router.post("/classes/{uuid:class_id}/assignments/{uuid:assignment_id}/overrides", response=AnswerOut)
def override_create(
    request: HttpRequest, class_id: uuid.UUID, assignment_id: uuid.UUID, body: OverrideIn
) -> AnswerOut:
    """Give an answer points; the same as a ruling on the site, with its reason kept."""
    seat = _seat(request, class_id, writes=True)
    book = gradebook.matrix(_assignment(seat, assignment_id))
    answer = _answer(book, body.member, body.question)
    try:
        override_points(answer=answer, author=seat.user, points=body.points, reason=body.reason)
    except TeachingRefused as refusal:
        raise ApiRefused(422, refusal.code, str(refusal)) from refusal
    return _answer_out(answer)


@router.delete(
    "/classes/{uuid:class_id}/assignments/{uuid:assignment_id}/overrides/{int:member}/{str:question}",
    response=AnswerOut,
)
def override_delete(
    request: HttpRequest, class_id: uuid.UUID, assignment_id: uuid.UUID, member: int, question: str
) -> AnswerOut:
    """Take the points that a teacher gave an answer back: the automatic score is there again. 404 where there are none."""
    seat = _seat(request, class_id, writes=True)
    answer = _answer(gradebook.matrix(_assignment(seat, assignment_id)), member, question)
    ruling = Override.objects.filter(answer=answer, point="", removed__isnull=True).first()
    if ruling is None:
        raise Http404("Nobody gave this answer points.")
    override_remove(override=ruling)
    return _answer_out(answer)


def _answer_out(answer: Answer) -> AnswerOut:
    answer.refresh_from_db()
    item, share = answer.item, 1.0 if answer.item.everybody else answer.share
    return AnswerOut(
        question=item.question_id,
        points=None if share is None else float(rounded(float(item.points) * share)),
        of=float(item.points),
        by_a_teacher=answer.overridden,
    )


def _answer(book: gradebook.Matrix, member: int, question: str) -> Answer:
    cells = {
        (row.seat.pk, item.question_id): cell.answer
        for row in book.rows
        for item in book.items
        if (cell := row.cells.get(item.pk)) is not None
    }
    found = cells.get((member, question))
    if found is None:
        raise Http404("There is no answer of this learner to this question.")
    return Answer.objects.select_related("item__rubric", "submission").get(pk=found)
