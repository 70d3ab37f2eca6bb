"""Writes about assignments: give a set to a class, move dates, attach, extend."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from interview.accounts.models import User
from interview.teaching.dates import rezoned
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import (
    AssignedQuestion,
    Assignment,
    Attachment,
    Classroom,
    Extension,
    QuestionSet,
    Submission,
)
from interview.teaching.selectors.sets import set_items
from interview.teaching.services.totals import totals_update

ATTACHMENT_LIMIT = 10


@transaction.atomic
def assignment_create(*, classroom: Classroom, source: QuestionSet, **fields: Any) -> Assignment:
    """Give a set to a class. Questions, points and rubric versions are pinned as they are now. Raises TeachingRefused."""
    items = [item for item in set_items(source) if item.question.rubric_id is not None]
    if not items:
        raise TeachingRefused("This set has no question that can be assessed. Pick some first.")
    assignment = Assignment.objects.create(classroom=classroom, source=source, **fields)
    AssignedQuestion.objects.bulk_create(
        AssignedQuestion(
            assignment=assignment,
            question=item.question,
            rubric=item.question.rubric,
            position=position,
            section=item.section,
            points=item.points,
            title=item.question.title,
            prompt=item.question.prompt,
            strong=item.question.strong,
            note=item.note,
        )
        for position, item in enumerate(items, start=1)
    )
    return assignment


@transaction.atomic
def assignment_update(*, assignment: Assignment, **fields: Any) -> Assignment:
    """Change title, dates and rules. Lateness follows the dates: nothing about it is stored."""
    for name, value in fields.items():
        setattr(assignment, name, value)
    assignment.save(update_fields=list(fields))
    return assignment


@transaction.atomic
def assignment_delete(*, assignment: Assignment) -> None:
    """Delete an assignment with everything handed in for it."""
    files_forget(Attachment.objects.filter(assignment=assignment))
    assignment.delete()


def files_forget(attachments: Any) -> None:
    """Delete uploaded files once the rows that named them are gone."""
    files = [row.file for row in attachments if row.file]
    transaction.on_commit(lambda: _delete(files))


def _delete(files: list[Any]) -> None:
    for file in files:
        file.storage.delete(file.name)


@transaction.atomic
def zone_change(*, classroom: Classroom, time_zone: str) -> None:
    """Move a class to another zone: every deadline keeps its hour on the wall."""
    old = classroom.time_zone
    if old == time_zone:
        return
    for assignment in Assignment.objects.filter(classroom=classroom):
        _rezone(assignment, old, time_zone)
        assignment.save(update_fields=["opens", "due", "late_until"])
    for extension in Extension.objects.filter(assignment__classroom=classroom):
        extension.due = rezoned(extension.due, old, time_zone)
        extension.save(update_fields=["due"])
    Classroom.objects.filter(pk=classroom.pk).update(time_zone=time_zone)


def _rezone(assignment: Assignment, old: str, new: str) -> None:
    """Each date keeps its hour; where the other zone's clocks jump between two of them, their order and distance are kept."""
    opens, due, late = assignment.opens, assignment.due, assignment.late_until
    assignment.opens, assignment.due = rezoned(opens, old, new), rezoned(due, old, new)
    if assignment.due <= assignment.opens:
        assignment.due = assignment.opens + (due - opens)
    if late is not None:
        assignment.late_until = rezoned(late, old, new)
        if assignment.late_until <= assignment.due:
            assignment.late_until = assignment.due + (late - due)


@transaction.atomic
def attachment_add(
    *,
    assignment: Assignment,
    label: str,
    path: str = "",
    file: UploadedFile[Any] | None = None,
    required: bool = False,
) -> Attachment:
    """Attach a page of this site or a document. Raises TeachingRefused when there are too many."""
    if Attachment.objects.filter(assignment=assignment).count() >= ATTACHMENT_LIMIT:
        raise TeachingRefused(f"An assignment holds at most {ATTACHMENT_LIMIT} attachments.")
    row = Attachment(assignment=assignment, label=label, path=path, required=required)
    if file is not None:
        row.file_name = (file.name or "document")[-200:]
        row.file.save(row.file_name, file, save=False)
    row.save()
    return row


@transaction.atomic
def attachment_remove(*, attachment: Attachment) -> None:
    """Take an attachment away."""
    files_forget([attachment])
    attachment.delete()


@transaction.atomic
def extension_give(
    *,
    assignment: Assignment,
    learner: User,
    due: datetime | None = None,
    extra_attempts: int | None = None,
    extra_time_percent: int | None = None,
    reason: str = "",
) -> Extension:
    """Give one learner a later date, more attempts or more time. Raises TeachingRefused for an earlier date.

    What is left out stays as an earlier extension gave it.
    """
    if due is not None and due < assignment.due:
        raise TeachingRefused("An extension can't be before the assignment's own due date.")
    row, _ = Extension.objects.get_or_create(
        assignment=assignment, owner=learner, defaults={"due": due or assignment.due}
    )
    row.due = due or row.due
    row.extra_attempts = row.extra_attempts if extra_attempts is None else extra_attempts
    row.extra_time_percent = row.extra_time_percent if extra_time_percent is None else extra_time_percent
    row.reason = reason or row.reason
    row.save(update_fields=["due", "extra_attempts", "extra_time_percent", "reason"])
    return row


def extension_take_back(*, extension: Extension) -> None:
    """Take an extension back: the assignment's own dates hold again."""
    extension.delete()


@transaction.atomic
def points_change(*, item: AssignedQuestion, points: Decimal) -> None:
    """Change what a question is worth; every score that holds it follows."""
    AssignedQuestion.objects.filter(pk=item.pk).update(points=points)
    totals_update(Submission.objects.filter(assignment_id=item.assignment_id))
