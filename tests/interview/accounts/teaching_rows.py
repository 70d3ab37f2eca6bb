"""Rows of the teaching room that belong to somebody."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Model
from django.utils import timezone

from interview.accounts.models import User
from interview.questions.models import Question
from interview.teaching.models import (
    Answer,
    AssignedQuestion,
    Assignment,
    Classroom,
    Extension,
    Membership,
    QuestionSet,
    SetItem,
    Submission,
)
from tests.interview.accounts.mark import MARK, Maker


def membership(owner: User, question: Question) -> Model:
    classroom = Classroom.objects.create(name="A class", time_zone="UTC")
    return Membership.objects.create(classroom=classroom, owner=owner, name=MARK)


def question_set(owner: User, question: Question) -> QuestionSet:
    return QuestionSet.objects.create(owner=owner, title=MARK)


def set_item(owner: User, question: Question) -> Model:
    return SetItem.objects.create(
        question_set=question_set(owner, question), question=question, position=1, note=MARK
    )


def assigned(question: Question) -> AssignedQuestion:
    assert question.rubric is not None
    now = timezone.now()
    classroom = Classroom.objects.create(name="A class", time_zone="UTC")
    assignment = Assignment.objects.create(
        classroom=classroom, title="x", opens=now, due=now + timedelta(days=1)
    )
    return AssignedQuestion.objects.create(
        assignment=assignment,
        question=question,
        rubric=question.rubric,
        position=1,
        points=1,
        title=question.title,
        prompt=question.prompt,
    )


def extension(owner: User, question: Question) -> Model:
    assignment = assigned(question).assignment
    return Extension.objects.create(assignment=assignment, owner=owner, due=assignment.due, reason=MARK)


def submission(owner: User, question: Question) -> Submission:
    assignment = assigned(question).assignment
    return Submission.objects.create(assignment=assignment, owner=owner, number=1, receipt=MARK)


def answer(owner: User, question: Question) -> Answer:
    item = assigned(question)
    work = Submission.objects.create(assignment=item.assignment, owner=owner, number=1, receipt=MARK)
    return Answer.objects.create(submission=work, item=item, text=MARK)


OWNED: dict[str, Maker] = {
    "teaching.extension.owner": extension,
    "teaching.membership.owner": membership,
    "teaching.questionset.owner": question_set,
    "teaching.submission.owner": submission,
}
DEPENDENT: dict[str, Maker] = {
    "teaching.answer": answer,
    "teaching.setitem": set_item,
}
