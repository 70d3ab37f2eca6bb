"""Exchanged roles: the words of a statement with its two sides changed about ("B eats A" for "A eats B")."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter
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
FEWEST_PLACED = 3  # matched words without which a place says nothing
MOSTLY_AWAY = 0.6
BESIDE = word_set("and while whereas but")


def exchanged(answer: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """True when what stood before the pivot now stands after it and the other way about."""
    firm = [
        pair for pair in pairs if not pair.opposite and _once(answer, pair.a) and _once(statement, pair.s)
    ]
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


def misplaced(answer: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """True when a statement's subject stands in one clause and its predicate in another that has a subject of its own.

    "Prefill writes one token at a time, while decode reads the prompt" has all words of "prefill reads the prompt".
    """
    if not answer.cuts or len(pairs) < FEWEST_PLACED:
        return False
    subject = next((pair for pair in pairs if pair.s == statement.content[0] and not pair.opposite), None)
    if subject is None or any(i in statement.content and i == subject.s for i in statement.cuts):
        return False
    home = bisect_right(answer.cuts, subject.a)
    others = Counter(bisect_right(answer.cuts, pair.a) for pair in pairs if pair is not subject)
    away, most = others.most_common(1)[0]
    if away == home or most < MOSTLY_AWAY * sum(others.values()) or others[home] * 2 > most:
        return False
    return _own_subject(answer, away, {pair.a for pair in pairs})


def _own_subject(clause: Clause, part: int, matched: set[int]) -> bool:
    """True when the words before the verb of a clause name something that isn't the statement's."""
    edges = [0, *clause.cuts, len(clause.words)]
    named = [i for i in range(edges[part], edges[part + 1]) if clause.words[i].content]
    verbs = (
        (i for i in range(named[0] + 1, edges[part + 1]) if _is_verb(clause.words[i])) if named else iter(())
    )
    verb = next(verbs, None)
    return verb is not None and not any(i in matched for i in named if i < verb)


def _is_verb(word: Word) -> bool:
    return word.text in AUXILIARIES or word.stem in VERBS


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
    left = sum(1 for i in statement.content if i < pivot and _once(statement, i))
    right = sum(1 for i in statement.content if i > pivot and _once(statement, i))
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
