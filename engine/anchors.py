"""Required anchors: does a unit of the answer name what a point is about, in any of the accepted wordings?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.alignment import Known
from engine.clauses import Clause, Word, clauses
from engine.lexicon import synonyms
from engine.normalise import normalise
from engine.stems import near

GAP = 2  # words that may stand between two words of an anchor
MIN_SYNONYM = 4
SYMBOLS = re.compile(r"[^\w\s'.,-]")


@dataclass(frozen=True, slots=True)
class Anchor:
    """One accepted wording: its words, and its compact form when it holds symbols such as O(n^2)."""

    words: tuple[Word, ...]
    symbols: str


def compile_anchor(text: str) -> Anchor:
    """Prepare an anchor as the answer's words are prepared."""
    plain = normalise(text).text
    words = tuple(word for clause in clauses(plain) for word in clause.words)
    content = tuple(word for word in words if word.content)
    symbols = _compact(plain) if SYMBOLS.search(plain) else ""
    # "each token" mustn't shrink to "token"; "keys and values" may lose its "and".
    return Anchor(content if len(content) > 1 else words, symbols)


def compile_groups(groups: Sequence[Sequence[str]]) -> tuple[tuple[Anchor, ...], ...]:
    """Prepare a point's anchor groups."""
    return tuple(tuple(compile_anchor(text) for text in group) for group in groups)


def hits(groups: Sequence[Sequence[Anchor]], unit: Clause, raw: str, known: Known) -> list[bool]:
    """For each group, whether one of its anchors is in the unit."""
    compact = _compact(raw)
    return [any(hit(anchor, unit, compact, known) for anchor in group) for group in groups]


def hit(anchor: Anchor, unit: Clause, compact: str, known: Known) -> bool:
    """True when the anchor's words stand in the unit in order, near each other."""
    if anchor.symbols and anchor.symbols in compact:
        return True
    if not anchor.words or (anchor.symbols and len(anchor.words) == 1):
        return False
    head, alone = anchor.words[0], len(anchor.words) == 1
    # A slip keeps the first letter, so most words need no closer look.
    first = [
        i
        for i, word in enumerate(unit.words)
        if word.stem == head.stem
        or ((alone or word.text[:1] == head.text[:1]) and _same(head, word, known, alone))
    ]
    return any(_follows(anchor.words[1:], unit.words, i + 1, known) for i in first)


def _follows(rest: Sequence[Word], words: Sequence[Word], start: int, known: Known) -> bool:
    at = start
    for wanted in rest:
        window = range(at, min(len(words), at + GAP + 1))
        found = next((i for i in window if _same(wanted, words[i], known, False)), None)
        if found is None:
            return False
        at = found + 1
    return True


def _same(wanted: Word, word: Word, known: Known, alone: bool) -> bool:
    return wanted.stem == word.stem or _stands_for(
        wanted.text, wanted.stem, word.text, word.stem, known, alone
    )


@lru_cache(maxsize=262144)
def _stands_for(wanted: str, wanted_stem: str, word: str, word_stem: str, known: Known, alone: bool) -> bool:
    long_enough = len(wanted) >= MIN_SYNONYM and len(word) >= MIN_SYNONYM
    if alone and long_enough and synonyms(wanted_stem, word_stem):
        return True
    return near(wanted, word) and not known(word)


def _compact(text: str) -> str:
    return re.sub(r"\s+", "", text.lower())
