"""The words of a normalised text, lower case."""

from __future__ import annotations

import re

WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?")


def words(text: str) -> list[str]:
    """Words and numbers in order."""
    return [match.group().lower() for match in WORD.finditer(text)]
