"""Cutting a text into passages: whole sentences, never across a heading, each repeating the end of the one before.

Pure: text in, character spans out, so that every passage is the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONGEST = 900  # characters; about 200 tokens of English, under the embedding model's 256
OVERLAP = 180  # characters of whole sentences repeated at the start of the next passage
DENSE = 3  # scripts without spaces take about three times the tokens a character
INDEX_VERSION = f"sentences-{LONGEST}-{OVERLAP}-1 all-minilm-l6-v2"

Heading = tuple[int, int, str]  # offset, level, words
Span = tuple[int, int]

BREAK = re.compile(
    r"\n[ \t]*\n\s*"  # a blank line
    r"|\n(?=[ \t]*(?:[-*•‣]|\d{1,3}[.)])[ \t])"  # a list item
    r"|(?<=[.!?…])[\"'”’»)\]]*\s+(?=[\"'“‘«(\[]?[A-Z0-9À-ÞЀ-Я])"
    r"|(?<=[。！？])"
)
PAGE = -1  # the level of a mark that is a page
ENDS = '.!?…:;。！？"”’)]'
LINE = re.compile(r"\n+")
ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|vs|etc|Fig|fig|No|no|Vol|pp|cf|approx|ca|e\.g|i\.e|al))\.$"
)
WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage: characters from `start` to `end`, under these headings."""

    start: int
    end: int
    heading: str


def passages(text: str, headings: list[Heading], *, lines: bool, pages: Sequence[int] = ()) -> list[Piece]:
    """All passages of a text in order. `lines`: each line is a unit by itself (table rows, paragraphs of a DOCX).

    `pages`: offsets of pages; a passage crosses into one only where a sentence does.
    """
    found: list[Piece] = []
    for start, end, path, bare in _sections(text, [*headings, *_page_marks(text, pages)]):
        if bare:
            continue
        found += [Piece(a, b, path) for a, b in _packed(text, list(_sentences(text, start, end, lines)))]
    if not found and text.strip():
        found = [Piece(a, b, "") for a, b in _packed(text, list(_sentences(text, 0, len(text), lines)))]
    return found


def _page_marks(text: str, pages: Sequence[int]) -> Iterator[Heading]:
    """Pages that begin after the end of a sentence, as marks that change no heading."""
    for start in pages:
        before = text[max(0, start - 20) : start].rstrip()
        if start and (not before or before[-1] in ENDS):
            yield start, PAGE, ""


def _sections(text: str, headings: list[Heading]) -> Iterator[tuple[int, int, str, bool]]:
    """(start, end, path of headings, whether nothing is under it) of the stretch under each heading."""
    stack: list[tuple[int, str]] = []
    marks = [(0, 0, ""), *sorted(headings)]
    for index, (start, level, words) in enumerate(marks):
        end = marks[index + 1][0] if index + 1 < len(marks) else len(text)
        if level > 0:
            stack = [item for item in stack if item[0] < level] + [(level, words)]
        body = text[start:end].strip()
        bare = not body or (level > 0 and "\n" not in body)
        yield start, end, " › ".join(item[1] for item in stack)[:300], bare


def _sentences(text: str, start: int, end: int, lines: bool) -> Iterator[Span]:
    """Spans of sentences (or lines) without the white space around them."""
    at = start
    for match in (LINE if lines else BREAK).finditer(text, start, end):
        if (
            not lines
            and "\n" not in match[0]
            and ABBREVIATION.search(text, max(at, match.start() - 8), match.start())
        ):
            continue
        yield from _trimmed(text, at, match.end())
        at = match.end()
    yield from _trimmed(text, at, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    if body := piece.strip():
        first = start + piece.index(body)
        yield from _bounded(text, first, first + len(body))


def _bounded(text: str, start: int, end: int) -> Iterator[Span]:
    """A sentence longer than a passage is cut at white space, at any character where there is none."""
    while _weight(text, start, end) > LONGEST:
        most = start + LONGEST // (DENSE if WITHOUT_SPACES.search(text, start, start + 50) else 1)
        cut = max(text.rfind(" ", start + 1, most), text.rfind("\n", start + 1, most))
        cut = cut if cut > start else min(most, end)
        yield start, cut
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end


def _weight(text: str, start: int, end: int) -> int:
    n = end - start
    if n * DENSE <= LONGEST:
        return n
    return n + (DENSE - 1) * len(WITHOUT_SPACES.findall(text, start, end))


def _packed(text: str, sentences: list[Span]) -> Iterator[Span]:
    """Sentences gathered up to the length of a passage; the next begins with the last ones of this."""
    first, overlapped = 0, 0
    for index in range(len(sentences)):
        if index > first and _weight(text, sentences[first][0], sentences[index][1]) > LONGEST:
            if index > overlapped:
                yield sentences[first][0], sentences[index - 1][1]
            first = _overlap(sentences, first, index)
            overlapped = index
            while first < index and _weight(text, sentences[first][0], sentences[index][1]) > LONGEST:
                first += 1
    if sentences:
        yield sentences[first][0], sentences[-1][1]


def _overlap(sentences: list[Span], first: int, index: int) -> int:
    """The first sentence to repeat: as many whole ones as fit the overlap."""
    start = index
    while start - 1 > first and sentences[index - 1][1] - sentences[start - 1][0] <= OVERLAP:
        start -= 1
    return start
