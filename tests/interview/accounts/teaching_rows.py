"""Rows of the teaching room that belong to somebody."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db.models import Model
from django.utils import timezone

from interview.accounts.models import User
from interview.questions.models import Question
from interview.teaching.models import (
    AccessEntry,
    Answer,
    AssignedQuestion,
    Assignment,
    Classroom,
    Dispute,
    Extension,
    Membership,
    NoticeChoice,
    Notification,
    Override,
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


def access_entry(owner: User, question: Question) -> Model:
    classroom = Classroom.objects.create(name="A class", time_zone="UTC")
    return AccessEntry.objects.create(classroom=classroom, owner=owner, reader=owner, what=MARK)


def notification(owner: User, question: Question) -> Model:
    return Notification.objects.create(owner=owner, key=uuid.uuid4().hex, text=MARK, path="/")


def notice_choice(owner: User, question: Question) -> Model:
    key = f"{MARK} {owner.pk}"
    return NoticeChoice.objects.get_or_create(owner=owner, defaults={"feed_key": key})[0]


def override(owner: User, question: Question) -> Model:
    return Override.objects.create(answer=answer(owner, question), author=owner, share=1, reason=MARK)


def dispute(owner: User, question: Question) -> Model:
    return Dispute.objects.create(answer=answer(owner, question), comment=MARK)


OWNED: dict[str, Maker] = {
    "teaching.accessentry.owner": access_entry,
    "teaching.accessentry.reader": access_entry,
    "teaching.extension.owner": extension,
    "teaching.membership.owner": membership,
    "teaching.noticechoice.owner": notice_choice,
    "teaching.notification.owner": notification,
    "teaching.override.author": override,
    "teaching.questionset.owner": question_set,
    "teaching.submission.owner": submission,
}
DEPENDENT: dict[str, Maker] = {
    "teaching.answer": answer,
    "teaching.dispute": dispute,
    "teaching.setitem": set_item,
}
