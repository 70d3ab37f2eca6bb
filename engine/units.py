"""The pieces of an answer that may earn a point: clauses, sentences, and neighbouring sentences together."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.clauses import Clause, clauses, sentences
from engine.polarity import Scope

CLAUSE, SENTENCE, PAIR = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of the answer, as one clause of words, with its text and size (CLAUSE, SENTENCE or PAIR)."""

    clause: Clause
    text: str
    size: int

    @property
    def span(self) -> tuple[int, int]:
        """Start and end in the matching text."""
        return self.clause.start, self.clause.end


def units(text: str, carry: bool = False) -> list[Unit]:
    """Every piece of a normalised answer that states something, small ones first, each span once.

    `carry` reads a denial that opens the answer on to its end.
    """
    whole = sentences(text, carry)
    pairs = [joined(a, b) for a, b in itertools.pairwise(whole) if not (_mute(a) or _mute(b))]
    out: list[Unit] = []
    seen: set[tuple[int, int]] = set()
    for size, pieces in ((CLAUSE, clauses(text, carry)), (SENTENCE, whole), (PAIR, pairs)):
        for piece in pieces:
            if _mute(piece) or (piece.start, piece.end) in seen:
                continue
            seen.add((piece.start, piece.end))
            out.append(Unit(piece, text[piece.start : piece.end], size))
    return out


def joined(a: Clause, b: Clause) -> Clause:
    """Two sentences as one unit; scopes keep to their sentence."""
    shift = len(a.words)
    moved = tuple(
        Scope(scope.start + shift, scope.end + shift, scope.whole, scope.free) for scope in b.scopes
    )
    cuts = (*a.cuts, shift, *(cut + shift for cut in b.cuts))
    return Clause(
        a.words + b.words,
        a.scopes + moved,
        a.sentence,
        a.question or b.question,
        a.hedged or b.hedged,
        False,
        cuts,
    )


def inside(inner: Unit, outer: Unit) -> bool:
    """True when one unit's span lies within another's."""
    return outer.span[0] <= inner.span[0] and inner.span[1] <= outer.span[1]


def _mute(clause: Clause) -> bool:
    """Questions and bare lists of terms state nothing."""
    return clause.question or clause.listed or not clause.content


def only_question_words(pieces: Sequence[Unit], stems: frozenset[str]) -> Iterator[int]:
    """Indexes of units that say nothing beyond the question's own words."""
    for i, piece in enumerate(pieces):
        words = [piece.clause.words[j] for j in piece.clause.content]
        if words and all(word.stem in stems for word in words):
            yield i
