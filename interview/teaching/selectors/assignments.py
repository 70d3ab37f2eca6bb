"""Reads about assignments: who may work when, and which attempt counts."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from interview.accounts.models import User
from interview.teaching.dates import Window, moved_along, to_second
from interview.teaching.models import (
    AFTER_DUE,
    FULL,
    LATEST,
    AssignedQuestion,
    Assignment,
    Classroom,
    Extension,
    Submission,
)
from interview.teaching.scoring import credited, rounded


def assignment_list(classroom: Classroom) -> QuerySet[Assignment]:
    """A class's assignments by due date, with the number of questions and the sum of points."""
    found = Assignment.objects.filter(classroom=classroom).select_related("classroom")
    return found.annotate(n_questions=Count("questions"), sum_points=Sum("questions__points")).order_by(
        "due", "created"
    )


def assignment_get(classroom: Classroom, assignment_id: uuid.UUID) -> Assignment | None:
    """An assignment of this class."""
    return (
        Assignment.objects.select_related("classroom", "source")
        .filter(classroom=classroom, pk=assignment_id)
        .first()
    )


def item_list(assignment: Assignment) -> list[AssignedQuestion]:
    """The pinned questions in the set's order."""
    return list(AssignedQuestion.objects.filter(assignment=assignment).select_related("rubric"))


def window_of(assignment: Assignment, extension: Extension | None = None) -> Window:
    """An assignment's dates for one learner. An extension moves the late window along and takes nothing away.

    The late window ends at its hour on the wall, as it does for the class, also when the clocks change in between.
    """
    due, closes = assignment.due, assignment.late_until or assignment.due
    attempts, minutes = assignment.attempts, assignment.time_limit_minutes
    if extension is not None:
        if extension.due > due:
            closes = moved_along(closes, due, extension.due, assignment.classroom.time_zone)
            due = extension.due
        if attempts is not None:
            attempts += extension.extra_attempts
        if minutes is not None:
            minutes = -(-minutes * (100 + extension.extra_time_percent) // 100)
    return Window(
        opens=assignment.opens,
        due=due,
        closes=closes,
        attempts=attempts,
        minutes=minutes,
        steps=assignment.steps,
        late_credit=assignment.late_credit,
        archived=assignment.classroom.archived,
    )


def extension_of(assignment: Assignment, user: User) -> Extension | None:
    """A learner's own dates."""
    return Extension.objects.filter(assignment=assignment, owner=user).first()


def window_for(assignment: Assignment, user: User) -> Window:
    """A learner's window, read from the database."""
    return window_of(assignment, extension_of(assignment, user))


def submission_list(assignment: Assignment, user: User) -> list[Submission]:
    """A learner's attempts in order."""
    return list(Submission.objects.filter(assignment=assignment, owner=user).select_related("run"))


def feedback_level(
    assignment: Assignment, window: Window, n_handed_in: int, now: datetime | None = None
) -> str:
    """What a learner may see of an assessed attempt now: "", "points" or "full".

    Key points and strong answers come only when this learner can't hand in any more with them in hand: after the due
    date with no attempt left, or after the late window. The policy "full" releases everything at once.
    """
    at = now or timezone.now()
    if assignment.feedback == FULL:
        return "full"
    none_left = window.attempts is not None and n_handed_in >= window.attempts
    over = window.due if none_left else window.closes
    if to_second(at) > over:
        return "full"
    if assignment.feedback == AFTER_DUE:
        return "points" if to_second(at) > window.due else ""
    return "points"


def ended_by(assignment: Assignment, fields: Mapping[str, Any]) -> int:
    """How many attempts in progress would be over at once with other dates and rules."""
    moved = copy(assignment)
    for name, value in fields.items():
        setattr(moved, name, value)
    now, extensions = timezone.now(), {row.owner_id: row for row in assignment.extensions.all()}
    return sum(
        window_of(moved, extensions.get(row.owner_id)).is_over(row.started, now)
        for row in Submission.objects.filter(assignment=assignment, submitted__isnull=True)
    )


@dataclass(frozen=True)
class Score:
    """One attempt's points: earned, the late credit, and what counts."""

    submission: Submission
    earned: Decimal | None
    credit: int
    late: timedelta
    n_pending: int

    @property
    def points(self) -> Decimal | None:
        """After the late credit; None while something is not assessed."""
        return None if self.earned is None else credited(self.earned, self.credit)

    @property
    def penalty(self) -> Decimal:
        """What lateness cost."""
        if self.earned is None or self.points is None:
            return Decimal(0)
        return rounded(self.earned) - self.points


def score_of(submission: Submission, window: Window) -> Score:
    """The points of a handed-in attempt."""
    assert submission.submitted is not None
    return Score(
        submission=submission,
        earned=submission.earned if submission.n_pending == 0 else None,
        credit=window.credit(submission.submitted),
        late=window.late_by(submission.submitted),
        n_pending=submission.n_pending,
    )


def counted(assignment: Assignment, window: Window, submissions: Iterable[Submission]) -> Score | None:
    """The attempt that counts: one a teacher graded, else the best or the latest; None when nothing was handed in.

    An attempt in which nothing was written counts only when there is no other.
    """
    handed_in = [row for row in submissions if row.submitted is not None]
    if not handed_in:
        return None
    written = [row for row in handed_in if not row.blank] or handed_in
    scores = [score_of(row, window) for row in written]
    pinned = [score for score in scores if score.submission.pinned]
    if pinned:
        return pinned[-1]
    if assignment.counting == LATEST:
        return scores[-1]
    known = [score for score in scores if score.points is not None]
    return max(known, key=lambda score: score.points or Decimal(0)) if known else scores[-1]
