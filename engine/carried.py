"""A denial that opens an answer: does it deny one wrong statement, or all that follows?"""

from __future__ import annotations

from engine.clauses import sentences
from engine.compiled import CompiledRubric
from engine.embeddings import Embedder, Vectors
from engine.intake import Intake
from engine.stance import Stance, stance
from engine.units import CLAUSE, Unit, units


def denied_on(compiled: CompiledRubric, text: str, embedder: Embedder) -> bool:
    """True when an answer opens by denying something that isn't wrong: "It is not true that A. B. C." denies all three.

    Who denies a misconception first and then says what holds denies one sentence only.
    """
    whole = sentences(text)
    if sentences(text, carry=True) == whole:
        return False
    scope = next((scope for scope in whole[0].scopes if scope.whole), None)
    if scope is None:
        return False
    said = text[whole[0].words[scope.start].start : whole[0].words[scope.end - 1].end]
    pieces = [piece for piece in units(said) if piece.size == CLAUSE] or units(said)
    vectors = embedder.encode([piece.text for piece in pieces])
    return not any(
        _is_wrong(compiled, piece, vector, embedder) for piece, vector in zip(pieces, vectors, strict=True)
    )


def _is_wrong(compiled: CompiledRubric, piece: Unit, vector: Vectors, embedder: Embedder) -> bool:
    """True when a statement comes nearer to a misconception, or to the opposite of a point, than to any point."""
    to_points = [stance(piece, vector, point.statements, embedder.knows) for point in compiled.points]
    to_wrong = [stance(piece, vector, item.statements, embedder.knows) for item in compiled.misconceptions]
    right = max(found.agrees for found in to_points)
    wrong = max((_wrong(found) for found in to_wrong), default=0.0)
    return max(wrong, *(found.opposes for found in to_points)) > right


def _wrong(found: Stance) -> float:
    return found.agrees if found.agrees > found.opposes else 0.0


def carried(taken: Intake) -> tuple[Unit, ...]:
    """The pieces of an answer with the denial that opens it read on to a word that turns back."""
    kept = {piece.span for piece in taken.pieces}
    return tuple(piece for piece in units(taken.normalised.text, carry=True) if piece.span in kept)
