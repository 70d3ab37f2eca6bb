"""How one piece of an answer stands to an idea: how near while agreeing, how near while opposing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.alignment import (
    Known,
    Pair,
    align,
    cancels,
    clause_coverage,
    coverage,
    flips,
    in_order,
    wholly_denied,
)
from engine.clauses import Clause
from engine.compiled import Statements
from engine.embeddings import Vectors
from engine.lexicon import VERBS
from engine.roles import crossed, exchanged, misplaced
from engine.units import Unit

WORTH_ALIGNING = 0.3
VERBATIM = 0.9  # so many of the statement's words that their order must fit as well
SHUFFLED = 0.65
HALF = 0.5
SPOKEN_OF = 0.45  # share of a statement's words without which a denial is of something else
TOUCHED = 0.3  # the same from which a wording that is turned round keeps a farther one from counting
CHANGED = 0.5  # share of a statement's words from which changed sides count
NOUN_DENIED = 0.52  # the same where only a noun is denied ("no idle arithmetic")
FULL = 0.65  # share of a statement's words from which an opposite counts as nearer
FULL_EXTRA = 0.05
CLAUSE_SPOKEN_OF = 0.75  # the same share of one clause of a longer statement
STATED = 0.6  # share of all of a misconception's words that must be there
FEW_TELLING = 1  # fewer telling words say too little alone
TELLING = 0.6  # share of a misconception's telling words that must be there


@dataclass(frozen=True, slots=True)
class Stance:
    """How near a piece comes to an idea: agreeing with it, turning it round, and clearly stating it.

    `states` counts only statements whose telling words the piece has; misconceptions go by it.
    """

    agrees: float
    opposes: float
    states: float
    hedged_too: bool = False  # the statement that fits best is itself hedged
    denies: float = 0.0  # how near it comes to a wrong statement that it denies as a whole
    changed: bool = False  # the opposite is said by the statement's own words, set the other way about


NOTHING = Stance(0.0, 0.0, 0.0)


def stance(piece: Unit, vector: Vectors, statements: Statements, known: Known) -> Stance:
    """Compare a piece with every statement of an idea."""
    similar = statements.vectors @ vector
    denied = wholly_denied(piece.clause)
    agrees, opposes, states, hedged, about, turned, denies = 0.0, 0.0, 0.0, False, False, 0.0, 0.0
    for k, clause in enumerate(statements.clauses):
        value = float(similar[k])
        if value < WORTH_ALIGNING:
            agrees = max(agrees, 0.0 if denied else value)
            continue
        pairs = align(piece.clause, clause, known)
        if _shuffled(pairs, len(clause.content)):
            return NOTHING
        changed = _changed_about(piece.clause, clause, pairs)
        if changed or flips(piece.clause, clause, pairs):
            if _other_figures(piece.clause, clause):
                continue
            if coverage(clause, pairs) >= TOUCHED:
                turned = max(turned, value)
            if changed or _spoken_of(piece.clause, clause, pairs):
                nearer = FULL_EXTRA if coverage(clause, pairs) >= FULL else 0.0
                opposes, about = max(opposes, value + nearer), about or changed
                if denied and says_what_is_wrong(clause, statements.telling[k], pairs):
                    denies = max(denies, value + nearer)
            continue
        if denied and not cancels(clause, pairs):
            continue  # what denies all that it says can't state what the statement affirms
        if misplaced(piece.clause, clause, pairs):
            continue
        if _of_another(piece.clause, clause, pairs) or _denied_loosely(piece.clause, clause, pairs):
            continue
        if value > agrees:
            agrees, hedged = value, clause.hedged
        if value > states and says_what_is_wrong(clause, statements.telling[k], pairs):
            states = value
    if agrees < turned:
        agrees = 0.0  # the nearest wording decides, and it is turned round
    return Stance(agrees, opposes, states, hedged, denies, about)


def _spoken_of(piece: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """True when a piece has so much of a statement, or of one of its clauses, that turning it round counts."""
    covered = coverage(statement, pairs)
    need = NOUN_DENIED if _denies_a_noun(piece) else SPOKEN_OF
    if covered < need and clause_coverage(statement, pairs) < CLAUSE_SPOKEN_OF:
        return False
    return not _both_negative(piece, statement, pairs)


def _denies_a_noun(piece: Clause) -> bool:
    heads = [next((i for i in piece.content if i >= s.start), None) for s in piece.scopes if not s.whole]
    return bool(heads) and not any(i is not None and piece.words[i].stem in VERBS for i in heads)


def _other_figures(piece: Clause, statement: Clause) -> bool:
    """True when both name figures and none is the same: they speak of different cases."""
    if any(scope.whole for scope in piece.scopes):
        return False
    ours = {word.text for word in piece.words if word.text[0].isdigit()}
    theirs = {word.text for word in statement.words if word.text[0].isdigit()}
    return bool(ours and theirs) and not ours & theirs


def _of_another(piece: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """True when a piece says of one thing (decode) what a statement says of its counterpart (prefill)."""
    named = {piece.words[i].stem for i in piece.content}
    return any(
        pair.opposite
        and not pair.turns
        and pair.s == statement.content[0]
        and statement.words[pair.s].stem not in named
        for pair in pairs
    )


def _denied_loosely(piece: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """True when a piece denies by a verb that a statement without any negation or opposite doesn't have."""
    if statement.scopes or any(pair.opposite for pair in pairs):
        return False
    matched = {pair.a for pair in pairs}
    for scope in piece.scopes:
        inside = [i for i in piece.content if scope.start <= i < scope.end]
        before = any(i in matched for i in piece.content if i < scope.start)
        again = any(scope.start < other.start <= scope.start + 2 for other in piece.scopes)
        speaks_of_it = len(inside) == 1 or any(i in matched for i in inside)
        if (
            inside
            and not again
            and speaks_of_it
            and inside[0] not in matched
            and piece.words[inside[0]].stem in VERBS
            and before
        ):
            return True
    return False


def _changed_about(piece: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """True when the piece has the statement's words, and its roles or its sides the other way about."""
    if coverage(statement, pairs) < CHANGED:
        return False
    return exchanged(piece, statement, pairs) or crossed(piece, statement, pairs)


def _both_negative(piece: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """Two negations that reach different words ("has no vector", "doesn't exist") rarely clash."""
    return bool(piece.scopes and statement.scopes) and not any(pair.turns for pair in pairs)


def says_what_is_wrong(statement: Clause, telling: frozenset[int], pairs: Sequence[Pair]) -> bool:
    """True when a piece has the words that make a statement wrong, and nothing that excludes one of them."""
    if any(pair.opposite and not pair.turns for pair in pairs):
        return False
    words = telling if len(telling) >= FEW_TELLING else frozenset(statement.content)
    return _telling(statement, words, pairs) >= TELLING and coverage(statement, pairs) >= STATED


def _telling(clause: Clause, words: frozenset[int], pairs: Sequence[Pair]) -> float:
    """Share of the words that set a wrong statement apart from the right ones which the piece has too."""
    wanted = words or frozenset(clause.content)
    covered = {pair.s: pair.strength for pair in pairs if not pair.opposite}
    for scope in clause.scopes:
        inside = [i for i in clause.content if scope.start <= i < scope.end]
        if sum(i in covered for i in inside) < HALF * len(inside):
            return 0.0  # the piece doesn't speak of what the statement denies
    return sum(covered.get(i, 0.0) for i in wanted) / len(wanted) if wanted else 0.0


def _shuffled(pairs: Sequence[Pair], total: int) -> bool:
    return total >= 5 and len(pairs) >= VERBATIM * total and in_order(pairs) < SHUFFLED
