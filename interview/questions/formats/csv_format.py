"""CSV: a flat table for spreadsheets. Points keep their meaning and weight; wordings and anchors need JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from interview.questions.content import Content
from interview.questions.formats.raw import FileRefused, Raw, text_of

COLUMNS = ("id", "topic", "level", "title", "question", "reference", "points", "misconceptions", "weak")
ALIASES = {
    "uid": "id",
    "prompt": "question",
    "strong": "reference",
    "answer": "reference",
    "strong answer": "reference",
}
FIELDS = {"id": "uid", "question": "prompt", "reference": "strong"}
FORMULA = re.compile(r"^'*[=+\-@\t\r]")
WEIGHT = re.compile(r"[\d.,]+")


def read(data: bytes) -> list[Raw]:
    """Rows of a table with a header; comma, semicolon or tab between the cells."""
    text = text_of(data)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        table = [(lines.line_num, row) for row in lines]
    except csv.Error as error:
        raise FileRefused(f"This is not a CSV table (near line {lines.line_num}: {error}).") from error
    if not table:
        raise FileRefused("The file is empty.")
    header = [_column(cell) for cell in table[0][1]]
    unknown = [cell for cell in header if cell not in COLUMNS]
    if unknown or not {"question", "reference"} <= set(header):
        raise FileRefused(
            f"The first line names the columns: {', '.join(COLUMNS)}; question and reference are needed."
            + (f" Unknown: {', '.join(map(repr, unknown))}." if unknown else "")
        )
    return [_raw(line, header, row) for line, row in table[1:] if any(cell.strip() for cell in row)]


def _delimiter(text: str) -> str:
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def _column(cell: str) -> str:
    name = " ".join(cell.split()).lower()
    return ALIASES.get(name, name)


def _raw(line: int, header: list[str], row: list[str]) -> Raw:
    place = f"line {line}"
    if len(row) != len(header):
        return Raw(place, problem=f"{len(row)} cells, and the header has {len(header)}")
    cells = {name: _unguarded(cell) for name, cell in zip(header, row, strict=True)}
    fields: dict[str, Any] = {FIELDS.get(name, name): cell for name, cell in cells.items()}
    try:
        fields["points"] = _points(cells.get("points", ""))
        fields["misconceptions"] = _misconceptions(cells.get("misconceptions", ""))
    except ValueError as error:
        return Raw(place, problem=str(error))
    return Raw(place, fields)


def _points(cell: str) -> list[dict[str, Any]]:
    """One point a line, `meaning | weight`."""
    points = []
    for number, line in enumerate(filter(str.strip, cell.splitlines()), start=1):
        words, bar, last = line.rpartition("|")
        weighted = bar and WEIGHT.fullmatch(last.strip())
        means = (words if weighted else line).strip()
        point: dict[str, Any] = {"id": f"p{number}", "means": means, "statements": [means]}
        if weighted:
            try:
                point["weight"] = float(last.strip().replace(",", "."))
            except ValueError:
                raise ValueError(f"points: the weight {last.strip()!r} is no number") from None
        points.append(point)
    return points


def _misconceptions(cell: str) -> list[dict[str, Any]]:
    """One a line, `what people say | what is right`."""
    found = []
    for number, line in enumerate(filter(str.strip, cell.splitlines()), start=1):
        said, bar, right = line.partition("|")
        if not bar or not said.strip() or not right.strip():
            raise ValueError(f"misconceptions: 'what people say | what is right' is wanted, got {line!r}")
        found.append({"id": f"m{number}", "statements": [said.strip()], "right": right.strip()})
    return found


def write(contents: Sequence[Content]) -> bytes:
    """A table with a byte-order mark, so that spreadsheets read the letters; no cell starts a formula."""
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow(COLUMNS)
    for content in contents:
        table.writerow([_guarded(cell) for cell in _cells(content)])
    return out.getvalue().encode("utf-8-sig", "backslashreplace")


def _cells(content: Content) -> list[str]:
    points = [f"{_flat(point['means'])} | {point['weight']:g}" for point in content.points]
    wrong = [f"{_flat(item['statements'][0])} | {_flat(item['right'])}" for item in content.misconceptions]
    texts = (content.uid, content.topic, content.level, content.title, content.prompt, content.strong)
    return [*texts, "\n".join(points), "\n".join(wrong), content.weak]


def _flat(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def _guarded(cell: str) -> str:
    return f"'{cell}" if FORMULA.match(cell) else cell


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
