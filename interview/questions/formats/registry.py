"""The formats by name, and which one a file is in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from interview.questions.content import Content
from interview.questions.formats import anki, csv_format, gift, json_format, markdown_format
from interview.questions.formats.raw import FileRefused, Raw


@dataclass(frozen=True)
class Format:
    """How one format is read and written, and what it keeps."""

    name: str
    title: str
    endings: tuple[str, ...]
    mime: str
    read: Callable[[bytes], list[Raw]]
    write: Callable[[Sequence[Content]], bytes]
    keeps: str


EVERYTHING = "everything"
FORMATS = {
    known.name: known
    for known in (
        Format(
            "json", "JSON", (".json",), "application/json", json_format.read, json_format.write, EVERYTHING
        ),
        Format(
            "markdown",
            "Markdown",
            (".md", ".markdown"),
            "text/markdown; charset=utf-8",
            markdown_format.read,
            markdown_format.write,
            EVERYTHING,
        ),
        Format(
            "csv",
            "CSV",
            (".csv", ".tsv"),
            "text/csv; charset=utf-8",
            csv_format.read,
            csv_format.write,
            "question, reference, points with weights, one wording a misconception",
        ),
        Format(
            "gift",
            "GIFT (Moodle)",
            (".gift", ".txt"),
            "text/plain; charset=utf-8",
            gift.read,
            gift.write,
            "title, question, reference, topic and level",
        ),
        Format(
            "anki",
            "Anki package",
            (".apkg",),
            "application/octet-stream",
            anki.read,
            anki.write,
            EVERYTHING,
        ),
    )
}


def format_of(filename: str, data: bytes) -> Format:
    """The format of a file, by its ending and then by how it begins. Raises FileRefused."""
    for known in FORMATS.values():
        if filename.lower().endswith(known.endings):
            return known
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:64]
    if start.startswith(b"PK\x03\x04"):
        return FORMATS["anki"]
    if start.startswith((b"{", b"[{", b"[\n", b"[ ", b"[]")):
        return FORMATS["json"]
    if start.startswith(b"---"):
        return FORMATS["markdown"]
    if start.startswith((b"::", b"//", b"$CATEGORY")):
        return FORMATS["gift"]
    wanted = ", ".join(f"{known.title} ({' '.join(known.endings)})" for known in FORMATS.values())
    raise FileRefused(f"The format of this file is not known. Wanted: {wanted}.")
