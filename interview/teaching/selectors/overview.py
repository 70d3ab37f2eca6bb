"""An assignment at a glance: for staff who is where, for a learner what to do next."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.utils import timezone

from interview.accounts.models import User
from interview.teaching.dates import Window
from interview.teaching.models import (
    LEARNER,
    Answer,
    Assignment,
    Classroom,
    Extension,
    Membership,
    Submission,
)
from interview.teaching.selectors.assignments import (
    Score,
    assignment_list,
    counted,
    extension_of,
    feedback_level,
    item_list,
    score_of,
    submission_list,
    window_of,
)
from interview.teaching.selectors.classes import learner_list
from interview.teaching.selectors.review import to_review


@dataclass(frozen=True)
class Line:
    """An assignment in a list, as it stands for one learner (or for the class, for staff)."""

    assignment: Assignment
    window: Window
    state: str
    score: Score | None = None
    open_attempt: Submission | None = None
    n_handed_in: int | None = None
    n_to_review: int = 0


def assignment_lines(classroom: Classroom, learner: User | None) -> list[Line]:
    """A class's assignments by due date. A learner sees those that are open or were."""
    rows = list(assignment_list(classroom))
    now = timezone.now()
    if learner is None:
        return _class_lines(classroom, rows, now)
    return learner_lines([row for row in rows if row.opens <= now], learner, now)


def _class_lines(classroom: Classroom, rows: list[Assignment], now: datetime) -> list[Line]:
    """For staff: how many learners handed in, and how many answers wait for a look; two queries."""
    seats = Membership.objects.filter(classroom=classroom, left__isnull=True, role=LEARNER).values("owner")
    handed_in = Submission.objects.filter(
        assignment__in=rows, submitted__isnull=False, blank=False, owner__in=seats
    )
    counts = dict(handed_in.order_by().values_list("assignment").annotate(n=Count("owner", distinct=True)))
    waiting = to_review(Answer.objects.filter(item__assignment__in=rows, submission__owner__in=seats))
    reviews = dict(waiting.order_by().values_list("item__assignment").annotate(n=Count("pk")))
    return [
        Line(
            row,
            window_of(row),
            _class_state(row, now),
            n_handed_in=counts.get(row.pk, 0),
            n_to_review=reviews.get(row.pk, 0),
        )
        for row in rows
    ]


def _class_state(assignment: Assignment, now: datetime) -> str:
    if now < assignment.opens:
        return "planned"
    window = window_of(assignment)
    if now <= assignment.due:
        return "open"
    return "late" if now <= window.closes else "closed"


def learner_lines(rows: list[Assignment], learner: User, now: datetime) -> list[Line]:
    """Where each assignment stands for a learner, read in two queries."""
    extensions = {
        row.assignment_id: row for row in Extension.objects.filter(owner=learner, assignment__in=rows)
    }
    attempts: dict[Any, list[Submission]] = defaultdict(list)
    for submission in Submission.objects.filter(owner=learner, assignment__in=rows).order_by("number"):
        attempts[submission.assignment_id].append(submission)
    return [_line(row, window_of(row, extensions.get(row.pk)), attempts[row.pk], now) for row in rows]


def _line(assignment: Assignment, window: Window, attempts: list[Submission], now: datetime) -> Line:
    current = next((row for row in attempts if row.submitted is None), None)
    handed_in = [row for row in attempts if row.submitted is not None]
    if current is not None and not window.is_over(current.started, now):
        return Line(assignment, window, "working", open_attempt=current)
    level = feedback_level(assignment, window, len(handed_in), now)
    score = counted(assignment, window, handed_in) if level else None
    if handed_in:
        state = "assessed" if score is not None and score.points is not None else "handed in"
    else:
        state = _nothing_in(window, now)
    return Line(assignment, window, state, score, None)


def _nothing_in(window: Window, now: datetime) -> str:
    """What it is called when nothing was handed in; nobody missed what an archived class took away."""
    if window.is_open(now):
        return "to do"
    return "closed" if window.cut_short else "missed"


def learner_view(assignment: Assignment, learner: User) -> dict[str, Any]:
    """What a learner's page of an assignment shows."""
    now = timezone.now()
    extension = extension_of(assignment, learner)
    window = window_of(assignment, extension)
    attempts = submission_list(assignment, learner)
    handed_in = [row for row in attempts if row.submitted is not None]
    level = feedback_level(assignment, window, len(handed_in), now)
    left = None if window.attempts is None else max(0, window.attempts - len(attempts))
    return {
        "assignment": assignment,
        "window": window,
        "extension": extension,
        "items": item_list(assignment),
        "attachments": assignment.attachments.all(),
        "open_attempt": next((row for row in attempts if row.submitted is None), None),
        "attempts": [(row, score_of(row, window) if level else None) for row in handed_in],
        "level": level,
        "counting": counted(assignment, window, handed_in) if level else None,
        "left": left,
        "may_start": window.is_open(now) and (left is None or left > 0),
        "credit_now": window.credit(now),
        "now": now,
    }


def staff_view(assignment: Assignment) -> dict[str, Any]:
    """What the staff's page of an assignment shows: every learner's state."""
    now = timezone.now()
    extensions = {row.owner_id: row for row in Extension.objects.filter(assignment=assignment)}
    attempts: dict[int, list[Submission]] = defaultdict(list)
    for submission in Submission.objects.filter(assignment=assignment).order_by("number"):
        attempts[submission.owner_id].append(submission)
    people = []
    for seat in learner_list(assignment.classroom):
        window = window_of(assignment, extensions.get(seat.owner_id))
        rows = attempts[seat.owner_id]
        people.append((seat, extensions.get(seat.owner_id), _staff_state(assignment, window, rows, now)))
    states = [state for _, _, (state, _) in people]
    return {
        "assignment": assignment,
        "items": item_list(assignment),
        "attachments": assignment.attachments.all(),
        "people": people,
        "n_people": len(people),
        "n_handed_in": sum(state in ("handed in", "assessed") for state in states),
        "n_working": sum(state == "working" for state in states),
        "state": _class_state(assignment, now),
    }


def _staff_state(
    assignment: Assignment, window: Window, rows: list[Submission], now: datetime
) -> tuple[str, Score | None]:
    score = counted(assignment, window, rows)
    if score is not None:
        return ("handed in" if score.points is None else "assessed"), score
    if any(row.submitted is None for row in rows):
        return "working", None
    return _nothing_in(window, now), None
