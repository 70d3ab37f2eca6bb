"""CSV: every row is written with its header, so that a passage of rows can be read alone."""

from __future__ import annotations

import csv
import io
import re

from interview.documents.parsing.encodings import decoded
from interview.documents.parsing.outcome import NO_TEXT, TOO_COMPLEX, Parsed, Refused, Writer

FIELD_LIMIT = 100_000
MOST_COLUMNS = 1_000
DELIMITERS = ",;\t|"
SEPARATOR = re.compile(r"\s*\"?sep=([^\w\s\"]|\t)\"?[ \t]*\n", re.I)  # what Excel writes first


def parse(raw: bytes) -> Parsed:
    """A table: `header: value` for each cell, one row a line. Raises Refused."""
    text, encoding = decoded(raw)
    if not text.strip():
        raise Refused(NO_TEXT, "The file holds nothing but white space.")
    csv.field_size_limit(FIELD_LIMIT)
    declared = SEPARATOR.match(text)
    text = text[declared.end() :] if declared else text
    delimiter = declared[1] if declared else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    writer = Writer()
    try:
        header = next((row for row in reader if any(cell.strip() for cell in row)), [])
        if len(header) > MOST_COLUMNS:
            raise Refused(
                TOO_COMPLEX, f"The table has {len(header):,} columns; {MOST_COLUMNS:,} is the limit."
            )
        n_rows = 0
        for row in reader:
            if any(cell.strip() for cell in row):
                n_rows += 1
                writer.line(_row(header, row))
    except csv.Error as error:
        raise Refused(TOO_COMPLEX, f"A row can't be read: {error}.") from error
    if not n_rows:
        writer.line("; ".join(cell.strip() for cell in header))
    return writer.parsed("csv", encoding)


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
