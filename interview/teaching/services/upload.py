"""Points sent back as a file: read and checked first, applied after a look at what would change."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from django.db import transaction

from interview.accounts.models import User
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import Answer, AssignedQuestion
from interview.teaching.scoring import rounded
from interview.teaching.selectors.gradebook import Matrix, Row
from interview.teaching.services.grading import override_points

NEEDED = ("member", "question", "points")
ROWS = 20_000


@dataclass(frozen=True)
class Change:
    """A line of the file: what it would change, or why it can't."""

    line: int
    name: str
    question: str
    before: Decimal | None
    after: Decimal | None
    reason: str
    answer: int | None
    fault: str = ""


def changes_in(book: Matrix, text: str) -> list[Change]:
    """What a file would change: lines with the same points as before are left out. Raises TeachingRefused."""
    rows = _rows(text)
    seats = {str(row.seat.pk): row for row in book.rows}
    items = {item.question_id: item for item in book.items}
    found, seen = [], set()
    for number, row in rows:
        change = _change(number, row, seats, items)
        key = (row.get("member"), row.get("question"))
        if key in seen and not change.fault:
            change = Change(**{**change.__dict__, "fault": "This answer is in the file already."})
        seen.add(key)
        if change.fault or change.before != change.after:
            found.append(change)
    return found


def _rows(text: str) -> list[tuple[int, dict[str, str]]]:
    text = text.lstrip("\ufeff").replace("\x00", "")
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(";,\t", key=first.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = {name: (name or "").strip().lower() for name in reader.fieldnames or []}
        rows = [
            (reader.line_num, {names.get(key, ""): str(value or "").strip() for key, value in row.items()})
            for row in reader
        ]
    except csv.Error as error:
        raise TeachingRefused(f"This is not a CSV file: {error}.") from error
    missing = [name for name in NEEDED if name not in names.values()]
    if missing:
        raise TeachingRefused(
            f"The file has no column {', '.join(missing)}. Export “answers” from the gradebook and change its points."
        )
    if len(rows) > ROWS:
        raise TeachingRefused(f"The file has {len(rows)} lines and {ROWS} is the limit.")
    return rows


def _change(
    number: int, row: dict[str, str], seats: dict[str, Row], items: dict[str, AssignedQuestion]
) -> Change:
    seat, item = seats.get(row["member"]), items.get(row["question"].lstrip("'"))
    name = row.get("name", "")

    def fault(why: str) -> Change:
        return Change(number, name, row["question"], None, None, "", None, why)

    if seat is None:
        return fault(f"There is no learner “{row['member']}” here.")
    if item is None:
        return fault(f"There is no question “{row['question']}” in this assignment.")
    cell = seat.cells.get(item.pk)
    if cell is None:
        return fault("This learner has handed nothing in.")
    before = None if cell.points is None else rounded(cell.points)
    try:
        points = Decimal(row["points"].replace(",", ".")).quantize(Decimal("0.01"))
        if not points.is_finite():  # “NaN” is a number to Decimal and compares with none
            raise InvalidOperation
    except InvalidOperation:
        return (
            fault(f"“{row['points']}” is not a number.")
            if row["points"]
            else Change(number, name, row["question"], before, before, "", cell.answer)
        )
    worth = item.points
    if not 0 <= points <= worth:
        return fault(f"Points go from 0 to {worth.normalize() + 0:f}, not {points}.")
    shown = seat.seat.shown_name
    reason = row.get("reason", "") or "Uploaded from a file"
    return Change(number, shown, row["question"], before, points, reason, cell.answer)


@transaction.atomic
def changes_apply(*, changes: list[Change], author: User) -> int:
    """Make the changes, all or none, each as a ruling with its reason. Raises TeachingRefused when a line is faulty."""
    if any(change.fault for change in changes):
        raise TeachingRefused(
            "Mend the lines that are marked, then send the file again. Nothing was changed."
        )
    answers = Answer.objects.select_related("item__rubric", "submission").in_bulk(
        [change.answer for change in changes]
    )
    for change in changes:
        assert change.answer is not None and change.after is not None
        override_points(
            answer=answers[change.answer], author=author, points=change.after, reason=change.reason
        )
    return len(changes)
