"""Plain text and Markdown: the text as it is, in parts; Markdown's headings and fences are known."""

from __future__ import annotations

import re

from interview.documents.parsing.encodings import decoded
from interview.documents.parsing.outcome import NO_TEXT, Parsed, Refused, Writer

HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
FENCE = re.compile(r" {0,3}(```|~~~)")
LONGEST_LINE = 4_000  # a longer line is broken at a space, so that a part stays a screenful or two


def parse(raw: bytes, kind: str) -> Parsed:
    """Text or Markdown. Raises Refused."""
    text, encoding = decoded(raw)
    if not text.strip():
        raise Refused(NO_TEXT, "The file holds nothing but white space.")
    writer = Writer()
    fenced = False
    for line in text.split("\n"):
        fenced ^= kind == "md" and FENCE.match(line) is not None
        heading = HEADING.match(line) if kind == "md" and not fenced else None
        for piece in pieces(line):
            writer.line(piece, len(heading[1]) if heading else 0, heading[2] if heading else "")
    return writer.parsed(kind, encoding)


def pieces(line: str) -> list[str]:
    """A line, or its pieces where it is longer than a part should be."""
    found = []
    while len(line) > LONGEST_LINE:
        cut = line.rfind(" ", LONGEST_LINE // 2, LONGEST_LINE)
        cut = cut if cut > 0 else LONGEST_LINE
        found.append(line[:cut])
        line = line[cut:].removeprefix(" ")
    return [*found, line]
