"""Terms that are named in a grammatical sentence which says nothing of them: "Terms like cache and prefill matter here."."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.lexicon import AUXILIARIES, VERBS
from engine.stems import stem

FEWEST_ITEMS = 3
FEWEST_AFTER_ABOUT = 5
_TERMS = r"(?:concepts|terms|words|keywords|buzzwords|topics|notions|aspects)"
_HERE = r"(?: (?:here|too|in this|to this|for this|in the answer|for the answer|in this context|for long context))?"
# What only says that terms have to do with the question; the terms are the group.
NAMED = (
    re.compile(
        rf"(?:the |some |my |key |important |main |relevant |here are )*{_TERMS} (?:like|such as|including|are|here are) (.*)"
    ),
    re.compile(
        rf"(.*) (?:are|is) (?:all |the |just |some |key |important |main |relevant )*{_TERMS}(?: (?:that|which|here|to|one)\b.*)?"
    ),
    re.compile(
        r"(.*) (?:are|is) (?:all |very |really |also )*(?:important|relevant|key|essential|involved|related|central|crucial|"
        rf"significant|mentioned|connected|at play){_HERE}"
    ),
    re.compile(rf"(.*) (?:matter|come to mind|come into play|play a role|are what matters){_HERE}"),
)
ABOUT = re.compile(r"(?:\S+ ){1,3}(?:is|are) (?:all )?about (.*)")
THERE_IS = re.compile(r"there (?:is|are) .*\band there (?:is|are)\b.*")


def mentions(texts: Sequence[str]) -> bool:
    """True for a sentence of tokens that names terms, three or more, and states nothing about any."""
    words = " ".join(text for text in texts if text[0].isalnum())
    if THERE_IS.fullmatch(words):
        return True
    items = _items(texts)
    if items < FEWEST_ITEMS:
        return False
    found = [match for pattern in NAMED if (match := pattern.fullmatch(words))]
    if any(match.re is NAMED[0] or not any(_says(word) for word in match[1].split()) for match in found):
        return True
    return items >= FEWEST_AFTER_ABOUT and ABOUT.fullmatch(words) is not None


def _says(word: str) -> bool:
    return word in AUXILIARIES or (word.endswith(("s", "ed")) and stem(word) in VERBS)


def _items(texts: Sequence[str]) -> int:
    """Items of a list: parted by commas, "and" or "or"; a comma before "and" parts the same two."""
    marks = [i for i, text in enumerate(texts) if text in (",", "and", "or", "/")]
    return 1 + sum(i + 1 not in marks or texts[i] != "," for i in marks)
