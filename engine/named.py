"""Which anchors each piece of an answer names, found once for all gates; and which pieces can matter to a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.alignment import Known, align
from engine.anchors import Anchor, hits
from engine.compiled import CompiledPoint, CompiledRubric
from engine.figures import check_figures
from engine.stance import says_what_is_wrong
from engine.units import PAIR, Unit, inside

Hits = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """Pieces of an answer with what each names: `hits[piece][point]` holds a truth for every anchor group."""

    pieces: tuple[Unit, ...]
    hits: tuple[tuple[Hits, ...], ...]


def named(compiled: CompiledRubric, pieces: Sequence[Unit], known: Known) -> Named:
    """The pieces that can matter, with what they name: only these need a vector, which is what takes the time."""
    found = [tuple(_hits(point, piece, known) for point in compiled.points) for piece in pieces]
    kept = [i for i, piece in enumerate(pieces) if _matters(compiled, i, pieces, found, known)]
    return Named(tuple(pieces[i] for i in kept), tuple(found[i] for i in kept))


def _hits(point: CompiledPoint, piece: Unit, known: Known) -> Hits:
    """A group of figures is named by the right quantity in any spelling ("1.93e10 bytes" for "19.3 GB")."""
    found = hits(point.groups, piece.clause, piece.text, known)
    figures = [i for i, group in enumerate(point.groups) if not found[i] and any(map(_is_figure, group))]
    required = [figure for figure in point.figures if figure.number.required]
    if figures and required and check_figures(required, piece, known).state == "fine":
        found = [named or i in figures for i, named in enumerate(found)]
    return tuple(found)


def _is_figure(anchor: Anchor) -> bool:
    return any(word.text[0].isdigit() for word in anchor.words)


def about(found: Sequence[bool]) -> bool:
    """True when a piece names what the point is about: only such a piece can contradict it."""
    return not found or found[0] or (len(found) > 2 and sum(found) >= len(found) - 1)


def _matters(
    compiled: CompiledRubric,
    i: int,
    pieces: Sequence[Unit],
    found: Sequence[tuple[Hits, ...]],
    known: Known,
) -> bool:
    """True when a piece may earn a point, contradict one, or state a misconception."""
    piece = pieces[i]
    if piece.size == PAIR:
        return not all(point.groups for point in compiled.points) or _adds(i, pieces, found)
    if any(about(hit) or _earns(hit) for hit in found[i]):
        return True
    return any(
        says_what_is_wrong(clause, telling, align(piece.clause, clause, known))
        for item in compiled.misconceptions
        for clause, telling in zip(item.statements.clauses, item.statements.telling, strict=True)
    )


def _earns(found: Sequence[bool]) -> bool:
    """True when so many anchors are named that nearness can earn a point or a part of it."""
    missing = len(found) - sum(found)
    return missing == 0 or (missing == 1 and len(found) > 1)


def _adds(pair: int, pieces: Sequence[Unit], found: Sequence[tuple[Hits, ...]]) -> bool:
    """True when two sentences together name more of a point than either does alone, and enough of it."""
    held = [found[i] for i, piece in enumerate(pieces) if piece.size != PAIR and inside(piece, pieces[pair])]
    return any(_earns(both) and all(own[p] != both for own in held) for p, both in enumerate(found[pair]))
