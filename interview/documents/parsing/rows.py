"""CSV: every row is written with its header, so that a passage of rows can be read alone.

A quotation mark that is never closed would swallow the rows after it: such a row is read up to the end of its line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from interview.documents.parsing.encodings import decoded
from interview.documents.parsing.outcome import NO_TEXT, TOO_COMPLEX, Parsed, Refused, Writer

FIELD_LIMIT = 100_000
MOST_COLUMNS = 1_000
MOST_MENDED = 50  # rows with an open mark; past them marks are taken for letters
NAMED = 5  # of these that are named
DELIMITERS = ",;\t|"
SEPARATOR = re.compile(r"\s*\"?sep=([^\w\s\"]|\t)\"?[ \t]*\n", re.I)  # what Excel writes first
END = "\x00"  # stands in no decoded text
Row = tuple[int, list[str]]  # the line it begins on, and its cells


def parse(raw: bytes) -> Parsed:
    """A table: `header: value` for each cell, one row a line. Raises Refused."""
    text, encoding = decoded(raw)
    if not text.strip():
        raise Refused(NO_TEXT, "The file holds nothing but white space.")
    before = csv.field_size_limit(FIELD_LIMIT)
    try:
        return _parsed(text, encoding)
    finally:
        csv.field_size_limit(before)  # it holds for the whole process


def _parsed(text: str, encoding: str) -> Parsed:
    declared = SEPARATOR.match(text)
    delimiter = declared[1] if declared else _delimiter(text)
    table = Table(text, delimiter, skip=text[: declared.end()].count("\n") if declared else 0)
    rows = (row for _, row in table.rows() if any(cell.strip() for cell in row))
    header = next(rows, [])
    if len(header) > MOST_COLUMNS:
        raise Refused(TOO_COMPLEX, f"The table has {len(header):,} columns; {MOST_COLUMNS:,} is the limit.")
    writer = Writer()
    for row in rows:
        writer.line(_row(header, row))
    if not writer.lines:
        writer.line("; ".join(cell.strip() for cell in header))
    parsed = writer.parsed("csv", encoding)
    parsed.note = open_marks(table.mended)
    return parsed


class Table:
    """The rows of a CSV text; `mended` are the lines whose quotation mark is not closed."""

    def __init__(self, text: str, delimiter: str, skip: int = 0) -> None:
        self.lines = text.split("\n")
        self.delimiter = delimiter
        self.at = skip
        self.width = 0  # cells of the first row
        self.mended: list[int] = []

    def rows(self) -> Iterator[Row]:
        """Each row with the number of its first line. Raises Refused for a line that can't be read."""
        while self.at < len(self.lines):
            yield from self._sound()
            if self.at < len(self.lines):
                yield self._mend()

    def _sound(self) -> Iterator[Row]:
        """Rows from here up to the first whose quotation mark is not closed."""
        first = self.at
        quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if len(self.mended) < MOST_MENDED else csv.QUOTE_NONE
        reader = csv.reader(self._fed(first), delimiter=self.delimiter, strict=True, quoting=quoting)
        try:
            for row in reader:
                start, end = self.at, first + reader.line_num
                if end - start > 1 and self._swallowed(row, start, end):
                    return
                self.at = end
                self.width = self.width or len(row)
                yield start + 1, row
        except csv.Error:  # a mark that isn't closed, or one within words
            return

    def _fed(self, first: int) -> Iterator[str]:
        for line in self.lines[first:]:
            yield line + "\n"

    def _swallowed(self, row: Sequence[str], start: int, end: int) -> bool:
        """True for a row of several lines each of which would be a row of the table, where they together aren't."""
        widths = {len(_plain(line, self.delimiter)) for line in self.lines[start:end] if line.strip()}
        return self.width > 1 and widths == {self.width} and len(row) != self.width

    def _mend(self) -> Row:
        """One line by itself: with its marks where they are closed in it, else as letters."""
        line, number = self.lines[self.at], self.at + 1
        self.at += 1
        if len(line) > FIELD_LIMIT:
            raise Refused(
                TOO_COMPLEX,
                f"Line {number:,} can't be read: a cell holds at most {FIELD_LIMIT:,} characters.",
            )
        alone, *after = csv.reader([line + "\n", END], delimiter=self.delimiter)
        if after:  # marks within words, which are closed on the line
            return number, alone
        self.mended.append(number)
        return number, _plain(line, self.delimiter)


def _plain(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, quoting=csv.QUOTE_NONE), [])


def open_marks(lines: Sequence[int]) -> str:
    """Which lines were read by themselves, and why."""
    if not lines:
        return ""
    named = ", ".join(f"{line:,}" for line in lines[:NAMED]) + (", …" if len(lines) > NAMED else "")
    which = f"line {named}" if len(lines) == 1 else f"lines {named}"
    return f"A quotation mark is not closed on {which}: read up to the end of the line."


def _delimiter(text: str) -> str:
    """The delimiter that is most often in the first line, outside quotes."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    bare = "".join(part for index, part in enumerate(first.split('"')) if index % 2 == 0)
    return max(DELIMITERS, key=bare.count) if any(mark in bare for mark in DELIMITERS) else ","


def _row(header: list[str], row: list[str]) -> str:
    cells = []
    for index, cell in enumerate(row[:MOST_COLUMNS]):
        value = " ".join(cell.split())
        name = header[index].strip() if index < len(header) else ""
        if value:
            cells.append(f"{name}: {value}" if name else value)
    return "; ".join(cells)
