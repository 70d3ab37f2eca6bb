"""Doing an assignment: start, save, flag, hand in. The server's clock decides, to the second."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from interview.accounts.models import User
from interview.plain_text import is_blank, storable
from interview.practice.models import ANSWER_LIMIT
from interview.runs.chain import canonical_hash
from interview.runs.services import run_create
from interview.teaching.dates import Window, to_second
from interview.teaching.errors import Archived, TeachingRefused
from interview.teaching.models import (
    RANDOM,
    Answer,
    AssignedQuestion,
    Assignment,
    Attachment,
    Classroom,
    Extension,
    Submission,
)
from interview.teaching.selectors.assignments import item_list, window_for, window_of
from interview.teaching.services.totals import totals_update

KIND = "assess"


class Closed(TeachingRefused):
    """The time is up; `at` is the last moment that was accepted."""

    code = "closed"

    def __init__(self, at: datetime, message: str = "") -> None:
        super().__init__(message or "The time for this is up.")
        self.at = at


class StaleAnswer(Exception):
    """A newer revision of this answer is stored."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"Revision {answer.revision} is already stored.")
        self.answer = answer


class TooLong(TeachingRefused):
    """The answer is longer than the grader reads."""

    code = "too_long"


@transaction.atomic
def attempt_start(*, assignment: Assignment, learner: User) -> Submission:
    """The open attempt, or a new one. Raises Closed, TeachingRefused."""
    now = timezone.now()
    window = window_for(assignment, learner)
    open_one = Submission.objects.filter(assignment=assignment, owner=learner, submitted__isnull=True).first()
    if open_one is not None and not _close_if_over(open_one, window, now):
        return open_one
    if window.archived is not None:
        raise Archived
    if now < window.opens:
        raise TeachingRefused("This assignment isn’t open yet.")
    if not window.is_open(now):
        raise Closed(window.closes, "This assignment is closed.")
    numbers = Submission.objects.filter(assignment=assignment, owner=learner).aggregate(last=Max("number"))
    last = numbers["last"] or 0
    if window.attempts is not None and last >= window.attempts:
        raise TeachingRefused("You have used all your attempts.")
    return _begin(assignment, learner, last + 1)


def _begin(assignment: Assignment, learner: User, number: int) -> Submission:
    items = item_list(assignment)
    order = order_for(items, assignment, learner)
    try:
        with transaction.atomic():
            made = Submission.objects.create(assignment=assignment, owner=learner, number=number, order=order)
            Answer.objects.bulk_create(Answer(submission=made, item=item) for item in items)
    except IntegrityError:  # the second of two clicks
        return Submission.objects.get(assignment=assignment, owner=learner, submitted__isnull=True)
    return made


def order_for(items: list[AssignedQuestion], assignment: Assignment, learner: User) -> list[int]:
    """The learner's order: the set's, or one drawn within each section that is the same every time."""
    if assignment.order != RANDOM:
        return [item.pk for item in items]
    sections = list(dict.fromkeys(item.section for item in items))

    def drawn(item: AssignedQuestion) -> tuple[int, str]:
        ticket = f"{assignment.pk}:{learner.pk}:{item.question_id}".encode()
        return sections.index(item.section), hashlib.sha256(ticket).hexdigest()

    return [item.pk for item in sorted(items, key=drawn)]


@transaction.atomic
def answer_save(
    *,
    submission: Submission,
    item_id: int,
    text: str,
    revision: int | None = None,
    seen: int | None = None,
    elapsed_seconds: int = 0,
) -> Answer:
    """Store an answer being written. With a revision (autosave) an older one never overwrites a newer one.

    `seen` is the revision that a page's button was pressed on: what another window stored since then isn't overwritten.

    Raises Closed, StaleAnswer, TooLong; the caller still holds the text.
    """
    text = storable(text)
    if len(text) > ANSWER_LIMIT:
        raise TooLong(
            f"Your answer has {len(text):,} characters and {ANSWER_LIMIT:,} is the limit. Nothing was cut."
        )
    now = timezone.now()
    locked = _locked(submission)
    _must_be_open(locked, now)
    answer = Answer.objects.get(submission=locked, item_id=item_id)
    if revision is not None and revision <= answer.revision:
        if answer.text != text:
            raise StaleAnswer(answer)
        return answer
    if seen is not None and answer.revision > seen and answer.text != text:
        raise StaleAnswer(answer)
    answer.text, answer.updated = text, now
    answer.revision = revision if revision is not None else answer.revision + 1
    answer.elapsed_seconds = max(answer.elapsed_seconds, elapsed_seconds)
    answer.save(update_fields=["text", "updated", "revision", "elapsed_seconds"])
    return answer


def _must_be_open(submission: Submission, now: datetime) -> None:
    if submission.submitted is not None:
        raise Closed(submission.submitted, "This attempt is handed in, so it can’t be changed any more.")
    window = window_for(submission.assignment, submission.owner)
    if window.is_over(submission.started, now):
        raise Closed(window.ends(submission.started))


def _locked(submission: Submission) -> Submission:
    """The attempt as it is now, held until the transaction ends."""
    rows = Submission.objects.select_for_update(of=("self",))
    return rows.select_related("assignment__classroom", "owner").get(pk=submission.pk)


@transaction.atomic
def flag_set(*, submission: Submission, item_id: int, on: bool) -> None:
    """Mark a question to come back to, or unmark it."""
    locked = Submission.objects.select_for_update().get(pk=submission.pk)
    if locked.submitted is None:
        locked.flags = sorted({*locked.flags, item_id} if on else {*locked.flags} - {item_id})
        locked.save(update_fields=["flags"])


@transaction.atomic
def attachment_opened(*, submission: Submission, attachment: Attachment) -> None:
    """Remember that the learner opened an attachment."""
    locked = Submission.objects.select_for_update().get(pk=submission.pk)
    if attachment.pk not in locked.opened:
        locked.opened = [*locked.opened, attachment.pk]
        locked.save(update_fields=["opened"])


@transaction.atomic
def hand_in(*, submission: Submission) -> Submission:
    """Hand an attempt in; doing it again changes nothing. Raises Closed after its end, TeachingRefused."""
    now = timezone.now()
    locked = _locked(submission)
    if locked.submitted is not None:
        return locked
    window = window_for(locked.assignment, locked.owner)
    if window.is_over(locked.started, now):
        raise Closed(window.ends(locked.started))
    required = Attachment.objects.filter(assignment=locked.assignment, required=True)
    missing = [row.label for row in required.exclude(pk__in=locked.opened)]
    if missing:
        raise TeachingRefused(f"Open what belongs to this assignment first: {', '.join(missing)}.")
    _finish(locked, now, automatic=False)
    return locked


def _finish(submission: Submission, at: datetime, *, automatic: bool) -> None:
    """Store the hand-in with its receipt and queue the assessment. The caller holds the row."""
    answers = list(submission.answers.select_related("item__rubric").order_by("item__position"))
    written = [answer for answer in answers if not is_blank(answer.text)]
    submission.submitted, submission.automatic, submission.blank = at, automatic, not written
    submission.rubrics = {str(answer.item_id): answer.item.rubric.hash for answer in answers}
    submission.receipt = canonical_hash(receipt_document(submission, answers))
    for answer in answers:
        answer.share = None if answer in written else 0.0
    Answer.objects.bulk_update(answers, ["share"])
    if written:
        submission.run = run_create(
            owner=submission.owner,
            kind=KIND,
            input={"submission": str(submission.pk)},
            idempotency_key=f"assess-{submission.pk}",
        )
    submission.save()
    totals_update(Submission.objects.filter(pk=submission.pk))


def receipt_document(submission: Submission, answers: list[Answer]) -> dict[str, Any]:
    """What the receipt's hash covers: who handed in what, when, at which versions of the questions (as they were then)."""
    assert submission.submitted is not None
    return {
        "assignment": str(submission.assignment_id),
        "attempt": str(submission.pk),
        "number": submission.number,
        "submitted": submission.submitted.isoformat(),
        "answers": [
            {
                "question": answer.item.question_id,
                "rubric": submission.rubrics.get(str(answer.item_id), answer.item.rubric.hash),
                "text": answer.text,
            }
            for answer in answers
        ],
    }


def _close_if_over(submission: Submission, window: Window, now: datetime) -> bool:
    """Hand an attempt in as it stands when its time is up."""
    if not window.is_over(submission.started, now):  # most pages end here, without waiting for whoever writes
        return False
    with transaction.atomic():
        row = _locked(submission)
        if row.submitted is None:
            _finish(row, _last_moment(row, window), automatic=True)
    return True


def _last_moment(submission: Submission, window: Window) -> datetime:
    """When the time was up; where the end was moved before the last word that was saved, that word's moment."""
    saved = submission.answers.exclude(text="").aggregate(last=Max("updated"))["last"] or submission.started
    return max(window.ends(submission.started), to_second(submission.started), to_second(saved))


def attempt_settle(*, submission: Submission) -> Submission:
    """A submission as it is now: handed in by the clock if its time is up."""
    if submission.submitted is None:
        window = window_for(submission.assignment, submission.owner)
        if _close_if_over(submission, window, timezone.now()):
            submission.refresh_from_db()
    return submission


def attempts_open(classroom: Classroom) -> list[Submission]:
    """What is being worked on in a class."""
    rows = Submission.objects.filter(submitted__isnull=True, assignment__classroom=classroom)
    return list(rows.select_related("assignment", "owner"))


def attempts_settle(*, assignment: Assignment | None = None, classroom: Classroom | None = None) -> int:
    """Hand in, as they stand, all attempts whose time is up (of one assignment, of one class, or of all). How many."""
    now = timezone.now()
    rows = Submission.objects.filter(submitted__isnull=True).annotate(
        closes=Coalesce("assignment__late_until", "assignment__due")
    )
    if assignment is not None:
        rows = rows.filter(assignment=assignment)
    if classroom is not None:
        rows = rows.filter(assignment__classroom=classroom)
    # Only those that can be over: an open attempt of a long assignment is none of the clock's business yet.
    limited = Q(assignment__time_limit_minutes__isnull=False) | Q(
        assignment__classroom__archived__isnull=False
    )
    maybe = list(rows.filter(limited | Q(closes__lt=now)).select_related("assignment__classroom", "owner"))
    extensions = {
        (row.assignment_id, row.owner_id): row
        for row in Extension.objects.filter(assignment__in={row.assignment_id for row in maybe})
    }
    n_closed = 0
    for row in maybe:
        window = window_of(row.assignment, extensions.get((row.assignment_id, row.owner_id)))
        n_closed += _close_if_over(row, window, now)
    return n_closed
