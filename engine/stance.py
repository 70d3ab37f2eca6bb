"""How one piece of an answer stands to an idea: how near while agreeing, how near while opposing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.alignment import Known, Pair, align, coverage, flips, in_order
from engine.clauses import Clause
from engine.compiled import Statements
from engine.embeddings import Vectors
from engine.units import Unit

WORTH_ALIGNING = 0.3
VERBATIM = 0.9  # so many of the statement's words that their order must fit as well
SHUFFLED = 0.65
HALF = 0.5
SPOKEN_OF = 0.45  # share of a statement's words without which a denial is of something else
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


NOTHING = Stance(0.0, 0.0, 0.0)


def stance(piece: Unit, vector: Vectors, statements: Statements, known: Known) -> Stance:
    """Compare a piece with every statement of an idea."""
    similar = statements.vectors @ vector
    agrees, opposes, states, hedged = 0.0, 0.0, 0.0, False
    for k, clause in enumerate(statements.clauses):
        value = float(similar[k])
        if value < WORTH_ALIGNING:
            agrees = max(agrees, value)
            continue
        pairs = align(piece.clause, clause, known)
        if _shuffled(pairs, len(clause.content)):
            return NOTHING
        if flips(piece.clause, clause, pairs) % 2:
            if coverage(clause, pairs) >= SPOKEN_OF and not _both_negative(piece.clause, clause, pairs):
                opposes = max(opposes, value)
            continue
        if value > agrees:
            agrees, hedged = value, clause.hedged
        if value > states and _states(clause, statements.telling[k], pairs):
            states = value
    return Stance(agrees, opposes, states, hedged)


def _both_negative(piece: Clause, statement: Clause, pairs: Sequence[Pair]) -> bool:
    """Two negations that reach different words ("has no vector", "doesn't exist") rarely clash."""
    return bool(piece.scopes and statement.scopes) and not any(pair.turns for pair in pairs)


def _states(statement: Clause, telling: frozenset[int], pairs: Sequence[Pair]) -> bool:
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
