"""Plain text and Markdown: the text as it is, in parts; Markdown's headings and fences are known."""

from __future__ import annotations

import re

from interview.documents.parsing.encodings import decoded
from interview.documents.parsing.outcome import NO_TEXT, Parsed, Refused, Writer

HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
FENCE = re.compile(r" {0,3}(```|~~~)")
UNDERLINE = re.compile(r" {0,3}(=|-)\1{2,}\s*")
LONGEST_LINE = 4_000  # a longer line is broken at a space, so that a part stays a screenful or two


def parse(raw: bytes, kind: str) -> Parsed:
    """Text or Markdown. Raises Refused."""
    text, encoding = decoded(raw)
    if not text.strip():
        raise Refused(NO_TEXT, "The file holds nothing but white space.")
    writer = Writer()
    lines = text.split("\n")
    headings = _headings(lines) if kind == "md" else {}
    for number, line in enumerate(lines):
        level, words = headings.get(number, (0, ""))
        for piece in pieces(line):
            writer.line(piece, level, words)
    return writer.parsed(kind, encoding)


def _headings(lines: list[str]) -> dict[int, tuple[int, str]]:
    """Level and words of each line that is a heading: marked by # or underlined, outside fences and front matter."""
    found: dict[int, tuple[int, str]] = {}
    start, fence = _after_front_matter(lines), ""
    for number, line in enumerate(lines[start:], start):
        if mark := FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif fence:
            continue
        elif heading := HEADING.match(line):
            found[number] = len(heading[1]), heading[2]
        elif (under := UNDERLINE.fullmatch(line)) and number > start and _alone(lines, start, number - 1):
            found[number - 1] = (1 if under[1] == "=" else 2), lines[number - 1].strip()
    return found


def _after_front_matter(lines: list[str]) -> int:
    """The line after a block of settings between two lines of ---, at the very start."""
    if lines[0].rstrip() != "---":
        return 0
    return next((n + 1 for n, line in enumerate(lines[1:200], 1) if line.rstrip() in ("---", "...")), 0)


def _alone(lines: list[str], start: int, number: int) -> bool:
    """True for a paragraph of one line, which is what an underlined heading is."""
    line = lines[number]
    words = bool(line.strip()) and not line.lstrip().startswith(("#", ">", "|", "-", "*", "```", "~~~"))
    return words and (number == start or not lines[number - 1].strip())


def pieces(line: str) -> list[str]:
    """A line, or its pieces where it is longer than a part should be."""
    found = []
    while len(line) > LONGEST_LINE:
        cut = line.rfind(" ", LONGEST_LINE // 2, LONGEST_LINE)
        cut = cut if cut > 0 else LONGEST_LINE
        found.append(line[:cut])
        line = line[cut:].removeprefix(" ")
    return [*found, line]
