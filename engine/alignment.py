"""Words of an answer matched with words of a statement: do the two say the same or the opposite?"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.clauses import Clause
from engine.denials import FRAME
from engine.lexicon import VERBS, opposites, synonyms, turns_round
from engine.polarity import Scope
from engine.stems import near

SAME, TYPO, SYNONYM, OPPOSITE = 1.0, 0.95, 0.8, 0.7
HALF = 0.5
FEWEST = 3  # content words of a clause that can be spoken of alone
REACH = 0.25  # share of the matched words that a negation must reach to turn the whole round
Known = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Pair:
    """Word `a` of the answer stands for word `s` of the statement; `opposite` when they exclude each other.

    `turns` when the opposite reverses the statement (raises/lowers) and doesn't just name another thing.
    """

    a: int
    s: int
    strength: float
    opposite: bool
    turns: bool


@lru_cache(maxsize=262144)
def _strength(a: str, a_stem: str, b: str, b_stem: str, known: Known) -> tuple[float, bool]:
    """How well two words match (0..1), and whether they are opposites."""
    strength, opposite = _by_stems(a_stem, b_stem)
    if not strength and near(a, b) and not (known(a) and known(b)):
        return TYPO, False
    return strength, opposite


def _by_stems(a: str, b: str) -> tuple[float, bool]:
    if a == b:
        return SAME, False
    if opposites(a, b):
        return OPPOSITE, True
    return (SYNONYM, False) if synonyms(a, b) else (0.0, False)


def align(answer: Clause, statement: Clause, known: Known) -> list[Pair]:
    """One-to-one word pairs, the best matches first; ties go to words at similar places."""
    candidates = []
    ours = [(a, answer.words[a].text, answer.words[a].stem) for a in answer.content]
    for s in statement.content:
        wanted = statement.words[s]
        for a, text, root in ours:
            strength, opposite = _strength(text, root, wanted.text, wanted.stem, known)
            if strength:
                candidates.append((-strength, abs(a - s), s, a, opposite))
    pairs: list[Pair] = []
    used_a: set[int] = set()
    used_s: set[int] = set()
    for negative, _, s, a, opposite in sorted(candidates):
        if a in used_a or s in used_s:
            continue
        used_a.add(a)
        used_s.add(s)
        turns = opposite and turns_round(answer.words[a].stem, statement.words[s].stem)
        pairs.append(Pair(a, s, -negative, opposite, turns))
    return sorted(pairs, key=lambda pair: pair.s)


def coverage(statement: Clause, pairs: Sequence[Pair]) -> float:
    """Share of the statement's content words that the pairs cover."""
    total = len(statement.content)
    return sum(pair.strength for pair in pairs) / total if total else 0.0


def negated_words(clause: Clause) -> list[bool]:
    """For each word, whether an odd number of negations reach it."""
    counts = [0] * len(clause.words)
    for scope in clause.scopes:
        for i in range(scope.start, scope.end):
            counts[i] += 1
    return [count % 2 == 1 for count in counts]


def wholly_denied(clause: Clause) -> bool:
    """True when nothing of a clause is said but what it denies: "it is not true that …"."""
    counts = [0] * len(clause.words)
    for scope in clause.scopes:
        if scope.whole:
            for i in range(scope.start, scope.end):
                counts[i] += 1
    if not any(count % 2 for count in counts):
        return False
    return all(counts[i] % 2 or clause.words[i].text in FRAME for i in clause.content)


def cancels(statement: Clause, pairs: Sequence[Pair]) -> bool:
    """True when a statement turns something round itself, so that denying what it excludes agrees with it."""
    negated = negated_words(statement)
    return any(pair.opposite or negated[pair.s] for pair in pairs)


def free_words(clause: Clause) -> set[int]:
    """Words of negated subjects, which fit either polarity."""
    return {i for scope in clause.scopes for i in range(scope.start - scope.free, scope.start)}


def flips(answer: Clause, statement: Clause, pairs: Sequence[Pair]) -> int:
    """How many clauses of the answer turn the statement round; two turns within one clause cancel out."""
    return sum(times % 2 for times in turns(answer, statement, pairs).values())


def turns(answer: Clause, statement: Clause, pairs: Sequence[Pair]) -> Counter[int]:
    """For each clause of the answer, how many times it turns the statement round."""
    in_answer, in_statement = negated_words(answer), negated_words(statement)
    loose_answer, loose_statement = free_words(answer), free_words(statement)
    differs = {
        pair: (pair.turns ^ in_answer[pair.a] ^ in_statement[pair.s])
        and pair.a not in loose_answer
        and pair.s not in loose_statement
        for pair in pairs
    }
    spent: set[Pair] = set()
    turned: Counter[int] = Counter()
    for clause, side in ((answer, "a"), (statement, "s")):
        for scope in clause.scopes:
            inside = [pair for pair in pairs if scope.start <= getattr(pair, side) < scope.end]
            if (side == "a" or scope.whole or _reaches(clause, scope, inside, pairs)) and _turned(
                clause, scope, inside, side, differs, spent
            ):
                region = _region(answer, [pair for pair in inside if differs[pair]])
                # "From the text, not the session" for "from the session, not the text" turns twice and still turns.
                if side == "a" or turned[region] % 2 == 0:
                    turned[region] += 1
            spent.update(inside)
    for pair in pairs:
        if pair.turns and pair not in spent and differs[pair]:
            turned[_region(answer, [pair])] += 1
    return turned


def _region(answer: Clause, pairs: Sequence[Pair]) -> int:
    """The clause of the answer in which most of the pairs stand."""
    return Counter(bisect_right(answer.cuts, pair.a) for pair in pairs).most_common(1)[0][0]


def clause_coverage(statement: Clause, pairs: Sequence[Pair]) -> float:
    """The highest share that the pairs cover of one of the statement's clauses of three or more content words."""
    total = Counter(bisect_right(statement.cuts, i) for i in statement.content)
    got = dict.fromkeys(total, 0.0)
    for pair in pairs:
        got[bisect_right(statement.cuts, pair.s)] += pair.strength
    return max((got[part] / size for part, size in total.items() if size >= FEWEST), default=0.0)


def _reaches(clause: Clause, scope: Scope, inside: Sequence[Pair], pairs: Sequence[Pair]) -> bool:
    """True when a statement's negation is about what the answer says: its subject or enough words match."""
    subject = next((i for i in reversed(range(scope.start)) if clause.words[i].content), None)
    return len(inside) >= REACH * len(pairs) or any(pair.s == subject for pair in pairs)


def _turned(
    clause: Clause,
    scope: Scope,
    inside: Sequence[Pair],
    side: str,
    differs: dict[Pair, bool],
    spent: set[Pair],
) -> bool:
    """True when this negation, by most of the words that it reaches, makes a difference."""
    if not inside or not any(differs[pair] for pair in inside if pair not in spent):
        return False
    head = next((i for i in range(scope.start, scope.end) if clause.words[i].content), None)
    if scope.whole and len(inside) <= HALF * _content(clause, scope):
        return False  # what is denied is something else about the same subject
    if not scope.whole and head not in {getattr(pair, side) for pair in inside}:
        return False
    if not scope.whole and not _verbal(clause, head) and len(inside) < HALF * _content(clause, scope):
        return False  # "without a special head" denies the head, not what stands before it
    against = sum(pair.strength for pair in inside if differs[pair])
    return against > sum(pair.strength for pair in inside if not differs[pair])


def _content(clause: Clause, scope: Scope) -> int:
    return sum(clause.words[i].content for i in range(scope.start, scope.end))


def _verbal(clause: Clause, head: int | None) -> bool:
    return head is not None and clause.words[head].stem in VERBS


def in_order(pairs: Sequence[Pair]) -> float:
    """Share of neighbouring pairs that keep the statement's order; 1 for fewer than two."""
    if len(pairs) < 2:
        return 1.0
    steps = list(itertools.pairwise(pairs))
    return sum(first.a < second.a for first, second in steps) / len(steps)
