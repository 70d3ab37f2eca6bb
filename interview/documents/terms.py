"""The words a passage is found by: lower case, stemmed, hyphenation at a line's end undone; pairs for scripts without spaces."""

from __future__ import annotations

import re
import unicodedata

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\W_]+(?:[.,]\d+)*", re.UNICODE)
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
HYPHEN = re.compile(r"(?<=[a-zà-þ])[-\u00ad]\n\s*(?=[a-zà-þ])")
COMMON_WORDS = (
    "a an and are as at be been but by did do does for from had has have how if in into is it its of on or so such than "
    "that the their them then there these they this to was were what when where which who whom whose why will with would"
)
COMMON = frozenset(COMMON_WORDS.split())


def terms(text: str) -> list[str]:
    """The terms of a text in order, common words left out."""
    from engine.stems import stem

    found: list[str] = []
    folded = unicodedata.normalize("NFKC", HYPHEN.sub("", text)).lower()
    for word in WORD.findall(folded):
        if UNSPACED.match(word):
            found += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        elif word not in COMMON:
            found.append(stem(word))
    return found
