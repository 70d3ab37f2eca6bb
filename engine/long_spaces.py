"""Runs of white space too long for the splitting patterns, cut where the pattern itself would cut.

`\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+` backtracks over a run of spaces until the regex engine's stack is full (about half a million
characters). What these alternatives take is known: up to the run's last line break, then the rest, of which the last
character belongs to the word after it. (One case is left open: line breaks right after punctuation that carries a
combining mark, where o200k's choice depends on what stands before.)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

LONG = 20_000


@lru_cache(maxsize=4)
def _runs(longest: int) -> re.Pattern[str]:
    return re.compile(rf"\s{{{longest},}}")


def cut(text: str, *, marks_are_letters: bool, longest: int = LONG) -> Iterator[tuple[str, bool]]:
    """(part, is_piece): parts for the pattern to split, and pieces that it would have made of long white space."""
    done = 0
    for run in _runs(longest).finditer(text):
        start, end = run.span()
        if start and _takes_breaks(text[start - 1], marks_are_letters):
            while start < end and text[start] in "\r\n":
                start += 1
        breaks = max(text.rfind("\n", start, end), text.rfind("\r", start, end)) + 1
        middle = breaks or start
        stop = end if end == len(text) else end - 1
        yield text[done:start], False
        yield text[start:middle], True
        yield text[middle:stop], True
        done = max(middle, stop)
    yield text[done:], False


def _takes_breaks(before: str, marks_are_letters: bool) -> bool:
    """Does the piece that ends in this character take the line breaks after it, as punctuation does?"""
    kind = unicodedata.category(before)[0]
    return kind not in ("L", "N") and not before.isspace() and not (kind == "M" and marks_are_letters)
