"""The gradebook: an assignment's learners by questions, a class's learners by assignments."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils import timezone

from interview.teaching.models import (
    Answer,
    AssignedQuestion,
    Assignment,
    Classroom,
    Extension,
    Membership,
    Submission,
)
from interview.teaching.selectors.assignments import Score, counted, item_list, window_of
from interview.teaching.selectors.classes import learner_list

NOT_IN, PENDING, DONE, WORKING = "not handed in", "pending", "assessed", "working"
FEWEST = 5  # answers; a correlation of fewer says nothing


@dataclass(slots=True)
class Cell:
    """One answer in the matrix."""

    answer: int
    points: float | None
    share: float | None
    review: str
    overridden: bool
    seconds: int


@dataclass
class Row:
    """A learner in the matrix: the attempt that counts and its answers."""

    seat: Membership
    state: str
    score: Score | None = None
    n_attempts: int = 0
    newer: bool = False
    extension: Extension | None = None
    cells: dict[int, Cell] = field(default_factory=dict)

    @property
    def points(self) -> Decimal | None:
        return self.score.points if self.score else None


@dataclass(frozen=True)
class Matrix:
    """An assignment's gradebook."""

    assignment: Assignment
    items: list[AssignedQuestion]
    rows: list[Row]

    @property
    def total(self) -> Decimal:
        """What can be had."""
        return sum((item.points for item in self.items), Decimal(0))


def matrix(assignment: Assignment) -> Matrix:
    """Everybody who is in, with the counted attempt; five queries however large the class is."""
    seats = learner_list(assignment.classroom)
    extensions = {row.owner_id: row for row in Extension.objects.filter(assignment=assignment)}
    attempts: dict[int, list[Submission]] = defaultdict(list)
    for submission in Submission.objects.filter(assignment=assignment).order_by("number"):
        attempts[submission.owner_id].append(submission)
    rows = [_row(assignment, seat, extensions.get(seat.owner_id), attempts[seat.owner_id]) for seat in seats]
    items = item_list(assignment)
    _fill(rows, items)
    return Matrix(assignment, items, rows)


def _row(
    assignment: Assignment, seat: Membership, extension: Extension | None, attempts: list[Submission]
) -> Row:
    score = counted(assignment, window_of(assignment, extension), attempts)
    handed_in = [row for row in attempts if row.submitted is not None]
    if score is None or score.submission.blank:
        state = WORKING if len(attempts) > len(handed_in) else NOT_IN
    else:
        state = DONE if score.points is not None else PENDING
    newer = score is not None and score.submission.pinned and handed_in[-1].pk != score.submission.pk
    if state in (NOT_IN, WORKING):
        score = None
    return Row(seat, state, score, len(attempts), newer, extension)


def _fill(rows: list[Row], items: list[AssignedQuestion]) -> None:
    """Put the answers of the counted attempts into their rows.

    Only columns that need no conversion are read for every cell: with 9,000 of them it is half the time of the page.
    """
    by_owner = {row.seat.owner_id: row for row in rows if row.score}
    worth = {item.pk: (float(item.points), item.everybody) for item in items}
    counted_ids = [row.score.submission.pk for row in by_owner.values() if row.score]
    answers = Answer.objects.filter(submission__in=counted_ids)
    overridden = set(answers.filter(overridden=True).values_list("pk", flat=True))
    for owner_id, item_id, pk, share, review, seconds in answers.values_list(
        "submission__owner_id", "item_id", "pk", "share", "review", "elapsed_seconds"
    ):
        most, everybody = worth[item_id]
        share = 1.0 if everybody else share
        # As in `rounded`: halves up; the small term undoes what binary fractions lose.
        points = None if share is None else math.floor(most * share * 100 + 0.5 + 1e-9) / 100
        by_owner[owner_id].cells[item_id] = Cell(pk, points, share, review, pk in overridden, seconds)


@dataclass(frozen=True)
class ItemStatistics:
    """How a question went: mean share, how well it tells strong from weak, typical time; n is the answers counted."""

    item: AssignedQuestion
    n: int
    facility: float | None
    discrimination: float | None
    median_seconds: float | None


def item_statistics(book: Matrix) -> list[ItemStatistics]:
    """Statistics of each question over the counted attempts that are assessed."""
    weights = {item.pk: float(item.points) for item in book.items}
    totals = [sum(weights[pk] * (cell.share or 0.0) for pk, cell in row.cells.items()) for row in book.rows]
    return [_statistics(book, item, weights[item.pk], totals) for item in book.items]


def _statistics(book: Matrix, item: AssignedQuestion, weight: float, totals: list[float]) -> ItemStatistics:
    shares, rest, seconds = [], [], []
    for row, total in zip(book.rows, totals, strict=True):
        cell = row.cells.get(item.pk)
        if cell is None or cell.share is None:
            continue
        shares.append(cell.share)
        rest.append(round(total - weight * cell.share, 6))
        if cell.seconds:
            seconds.append(cell.seconds)
    return ItemStatistics(
        item,
        len(shares),
        statistics.fmean(shares) if shares else None,
        _correlation(shares, rest),
        statistics.median(seconds) if seconds else None,
    )


def _correlation(left: list[float], right: list[float]) -> float | None:
    if len(left) < FEWEST or len(set(left)) < 2 or len(set(right)) < 2:
        return None
    found = statistics.correlation(left, right)
    return found if math.isfinite(found) else None


@dataclass(frozen=True)
class ClassStatistics:
    """The class at a glance."""

    n_learners: int
    n_handed_in: int
    n_pending: int
    mean: float | None
    median: float | None


def class_statistics(book: Matrix) -> ClassStatistics:
    """Counts, and mean and median of the assessed totals."""
    totals = [float(row.points) for row in book.rows if row.points is not None]
    return ClassStatistics(
        n_learners=len(book.rows),
        n_handed_in=sum(row.state in (DONE, PENDING) for row in book.rows),
        n_pending=sum(row.state == PENDING for row in book.rows),
        mean=statistics.fmean(totals) if totals else None,
        median=statistics.median(totals) if totals else None,
    )


SORTS = {
    "name": lambda row: row.seat.shown_name.casefold(),
    "points": lambda row: (row.points is None, -(row.points or Decimal(0))),
    "state": lambda row: row.state,
    "submitted": lambda row: (
        row.score is None,
        row.score.submission.submitted if row.score else timezone.now(),
    ),
}


def narrowed(book: Matrix, *, search: str = "", state: str = "", sort: str = "name") -> Matrix:
    """The rows that fit, sorted."""
    words = search.casefold().split()
    rows = [
        row
        for row in book.rows
        if (not state or row.state == state)
        and all(word in f"{row.seat.shown_name} {row.seat.number}".casefold() for word in words)
    ]
    rows.sort(key=SORTS.get(sort, SORTS["name"]))
    return Matrix(book.assignment, book.items, rows)


@dataclass(frozen=True)
class CourseRow:
    """A learner over all assignments."""

    seat: Membership
    scores: list[tuple[Assignment, str, Decimal | None]]
    earned: Decimal
    possible: Decimal


def class_rows(
    classroom: Classroom, only: Assignment | None = None
) -> tuple[list[Assignment], list[tuple[Membership, list[Row]]]]:
    """Where every learner stands in every assignment (or in one), without the answers; four queries."""
    found = Assignment.objects.filter(classroom=classroom).select_related("classroom")
    assignments = list(found.order_by("due") if only is None else found.filter(pk=only.pk))
    extensions = {
        (row.assignment_id, row.owner_id): row for row in Extension.objects.filter(assignment__in=assignments)
    }
    attempts: dict[tuple[Any, int], list[Submission]] = defaultdict(list)
    for submission in Submission.objects.filter(assignment__in=assignments).order_by("number"):
        attempts[submission.assignment_id, submission.owner_id].append(submission)
    rows = []
    for seat in learner_list(classroom):
        keys = [(assignment, (assignment.pk, seat.owner_id)) for assignment in assignments]
        rows.append((seat, [_row(at, seat, extensions.get(key), attempts[key]) for at, key in keys]))
    return assignments, rows


def course(classroom: Classroom) -> tuple[list[tuple[Assignment, Decimal]], list[CourseRow]]:
    """The class's gradebook: learners by assignments, five queries.

    Assessed attempts count for the sum, and whatever is past its last moment without a hand-in counts as nothing.
    """
    assignments, standings = class_rows(classroom)
    worth: dict[Any, Decimal] = defaultdict(Decimal)
    for pk, points in AssignedQuestion.objects.filter(assignment__in=assignments).values_list(
        "assignment_id", "points"
    ):
        worth[pk] += points
    now = timezone.now()
    rows = []
    for seat, mine in standings:
        scores, earned, possible = [], Decimal(0), Decimal(0)
        for assignment, row in zip(assignments, mine, strict=True):
            scores.append((assignment, row.state, row.points))
            window = window_of(assignment, row.extension)
            over = now > window.closes and not window.cut_short
            if row.points is not None or (row.state == NOT_IN and over):
                earned += row.points or Decimal(0)
                possible += worth[assignment.pk]
        rows.append(CourseRow(seat, scores, earned, possible))
    return [(assignment, worth[assignment.pk]) for assignment in assignments], rows
