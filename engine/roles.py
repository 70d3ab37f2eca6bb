"""Exchanged roles: the words of a statement with its two sides changed about ("B eats A" for "A eats B")."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from engine.alignment import Pair
from engine.clauses import Clause, Word
from engine.lexicon import AUXILIARIES, VERBS, opposites
from engine.stems import stem, word_set

# Sides of these can be changed about without changing what is said.
SYMMETRIC = frozenset(
    stem(word)
    for word in word_set(
        "connect same equal identical different differ between and match meet touch join separate mix combine compare "
        "parallel versus correlate equivalent alike contact interact"
    )
)
SMALLEST = 0.6
BESIDE = word_set("and while whereas but")


def exchanged(answer: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """True when what stood before the pivot now stands after it and the other way about."""
    firm = [pair for pair in pairs if not pair.opposite]
    if len(firm) < 3 or _symmetric(statement) or _passive(answer) != _passive(statement):
        return False
    return any(
        _sides_changed(answer, statement, firm, pivot) for pivot in firm if _pivots(statement, pivot.s)
    )


def crossed(answer: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """True when two things said side by side are said the wrong way about ("large when sure and small when unsure")."""
    ours, theirs = _segments(answer), _segments(statement)
    places: dict[int, dict[str, int]] = {}
    for pair in pairs:
        if not pair.opposite and _once(answer, pair.a) and _once(statement, pair.s):
            places.setdefault(theirs[pair.s], {})[statement.words[pair.s].stem] = ours[pair.a]
    return any(
        len(set(one.values())) == 2
        and set(one.values()) == set(other.values())
        and any(opposites(a, b) for a in one for b in other)
        for one, other in itertools.combinations(places.values(), 2)
    )


def _segments(clause: Clause) -> list[int]:
    """For each word, the number of the side that it stands on: sides end at a clause or at "and", "while"."""
    out, side = [], 0
    for i, word in enumerate(clause.words):
        side += i in clause.cuts or word.text in BESIDE
        out.append(side)
    return out


def _once(clause: Clause, index: int) -> bool:
    root = clause.words[index].stem
    return sum(word.stem == root for word in clause.words) == 1


def _sides_changed(answer: Clause, statement: Clause, pairs: Sequence[Pair], pivot: Pair) -> bool:
    before = [pair for pair in pairs if pair.s < pivot.s]
    after = [pair for pair in pairs if pair.s > pivot.s]
    if not before or not after or not _covered(statement, pivot.s, before, after):
        return False
    near_a, near_s = max(before, key=lambda p: p.s), min(after, key=lambda p: p.s)
    return all(pair.a > pivot.a for pair in before) and (
        all(pair.a < pivot.a for pair in after) and near_a.a > near_s.a
    )


def _covered(statement: Clause, pivot: int, before: Sequence[Pair], after: Sequence[Pair]) -> bool:
    left = sum(1 for i in statement.content if i < pivot)
    right = sum(1 for i in statement.content if i > pivot)
    return len(before) >= SMALLEST * left and len(after) >= SMALLEST * right


def _pivots(statement: Clause, index: int) -> bool:
    """A verb, or the comparative before "than"."""
    following = statement.words[index + 1].text if index + 1 < len(statement.words) else ""
    return statement.words[index].stem in VERBS or following == "than"


def _symmetric(clause: Clause) -> bool:
    return any(word.stem in SYMMETRIC and word.text != "and" for word in clause.words)


def _passive(clause: Clause) -> bool:
    return any(_is_passive(clause.words, i) for i in range(len(clause.words)))


def _is_passive(words: Sequence[Word], i: int) -> bool:
    return words[i].text == "by" and any(
        word.text in AUXILIARIES or word.text.endswith("ed") for word in words[max(0, i - 3) : i]
    )
