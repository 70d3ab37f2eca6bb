"""Gradebooks as plain rows, for files and for the JSON API."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from interview.teaching.dates import wall_clock
from interview.teaching.exports import Value
from interview.teaching.scoring import rounded
from interview.teaching.selectors.gradebook import Cell, CourseRow, Matrix


def matrix_table(book: Matrix) -> tuple[list[str], list[list[Value]]]:
    """One line a learner: who, state, time, points per question, earned, credit, penalty, total."""
    header = ["member", "name", "number", "e-mail", "state", "handed in", "late credit %"]
    header += [item.question_id for item in book.items]
    header += ["earned", "late penalty", "points", "of"]
    return header, [_line(book, row) for row in book.rows]


def _line(book: Matrix, row: Any) -> list[Value]:
    score = row.score
    zone = book.assignment.classroom.time_zone
    handed_in = wall_clock(score.submission.submitted, zone).isoformat(" ", "seconds") if score else ""
    line: list[Value] = [
        row.seat.pk,
        row.seat.shown_name,
        row.seat.number,
        row.seat.owner.email or "",
        row.state,
        handed_in,
        score.credit if score else None,
    ]
    cells = [row.cells.get(item.pk) for item in book.items]
    line += [_points(cell) for cell in cells]
    earned = rounded(score.earned) if score and score.earned is not None else None
    line += [earned, score.penalty if score and earned is not None else None, row.points, book.total]
    return line


def _points(cell: Cell | None) -> Decimal | None:
    return None if cell is None or cell.points is None else rounded(cell.points)


def answers_table(book: Matrix) -> tuple[list[str], list[list[Value]]]:
    """One line an answer, by stable ids: the file that can be sent back with other points."""
    header = ["member", "name", "question", "points", "of", "by a teacher", "reason"]
    rows: list[list[Value]] = []
    for row in book.rows:
        for item in book.items:
            if cell := row.cells.get(item.pk):
                name = row.seat.shown_name
                by = "yes" if cell.overridden else ""
                rows.append([row.seat.pk, name, item.question_id, _points(cell), item.points, by, ""])
    return header, rows


def course_table(
    columns: list[tuple[Any, Decimal]], rows: list[CourseRow]
) -> tuple[list[str], list[list[Value]]]:
    """One line a learner over all assignments."""
    header = [
        "member",
        "name",
        "number",
        "e-mail",
        *[assignment.title for assignment, _ in columns],
        "points",
        "of",
    ]
    return header, [
        [
            row.seat.pk,
            row.seat.shown_name,
            row.seat.number,
            row.seat.owner.email or "",
            *[points if points is not None else state for _, state, points in row.scores],
            row.earned,
            row.possible,
        ]
        for row in rows
    ]
