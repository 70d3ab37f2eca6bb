"""A rubric made ready for matching: statements as vectors and clauses, anchors as word patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.alignment import Known
from engine.anchors import Anchor, compile_anchor, compile_groups, hit
from engine.clauses import Clause, sentences
from engine.embeddings import Embedder, Vectors
from engine.normalise import normalise
from engine.quantities import Quantity, quantities
from engine.rubric import Misconception, Number, Point, Rubric
from engine.units import joined

SUBJECT_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Statements:
    """Differently worded statements of one idea: unit vectors [n, 384] and their words."""

    vectors: Vectors
    clauses: tuple[Clause, ...]
    telling: tuple[frozenset[int], ...] = ()  # of each wrong statement, the words no right one has


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of a point, the words that must stand beside it, and the quantities that it is said for."""

    number: Number
    of: tuple[Anchor, ...]
    given: tuple[Quantity, ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledPoint:
    """A point with everything needed to match it."""

    point: Point
    statements: Statements
    groups: tuple[tuple[Anchor, ...], ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class CompiledMisconception:
    """A misconception with everything needed to match it."""

    misconception: Misconception
    statements: Statements


@dataclass(frozen=True, slots=True)
class CompiledRubric:
    """A rubric ready for matching."""

    rubric: Rubric
    points: tuple[CompiledPoint, ...]
    misconceptions: tuple[CompiledMisconception, ...]
    pairs: frozenset[tuple[int, int]] = frozenset()  # points whose subjects can be exchanged


def compile_rubric(rubric: Rubric, embedder: Embedder) -> CompiledRubric:
    """Prepare a rubric; every text is encoded in one go."""
    texts = [list(point.statements) for point in rubric.points]
    texts += [list(item.statements) for item in rubric.misconceptions]
    ready = _statements(texts, embedder)
    points = tuple(
        CompiledPoint(point, ready[i], compile_groups(point.anchors), _figures(point))
        for i, point in enumerate(rubric.points)
    )
    offset = len(rubric.points)
    wrong = tuple(
        CompiledMisconception(item, _against(ready[offset + i], _rivals(item, points)))
        for i, item in enumerate(rubric.misconceptions)
    )
    return CompiledRubric(rubric, points, wrong, _exchangeable(points, embedder.knows))


def as_clause(text: str) -> Clause:
    """A statement of one or more sentences as one clause."""
    whole = sentences(normalise(text).text)
    if not whole:
        return Clause((), (), 0, False, False, False)
    clause = whole[0]
    for following in whole[1:]:
        clause = joined(clause, following)
    return clause


def _statements(texts: Sequence[Sequence[str]], embedder: Embedder) -> list[Statements]:
    flat = [normalise(text).text for group in texts for text in group]
    vectors = embedder.encode(flat)
    out, at = [], 0
    for group in texts:
        ready = tuple(as_clause(text) for text in group)
        out.append(Statements(vectors[at : at + len(group)], ready, (frozenset(),) * len(group)))
        at += len(group)
    return out


def _exchangeable(points: Sequence[CompiledPoint], known: Known) -> frozenset[tuple[int, int]]:
    """Pairs of points, each about a subject of its own that the other's statements never name."""

    def share(group: Sequence[Anchor], point: CompiledPoint) -> float:
        found = [
            any(hit(anchor, clause, "", known) for anchor in group) for clause in point.statements.clauses
        ]
        return sum(found) / max(1, len(found))

    return frozenset(
        (p, q)
        for p, one in enumerate(points)
        for q, other in enumerate(points)
        if p != q
        and not (one.figures or other.figures)
        and len(one.groups) > 1
        and len(other.groups) > 1
        and share(one.groups[0], one) >= SUBJECT_SHARE
        and share(other.groups[0], other) >= SUBJECT_SHARE
        and share(one.groups[0], other) == 0
        and share(other.groups[0], one) == 0
    )


def _rivals(item: Misconception, points: Sequence[CompiledPoint]) -> list[Clause]:
    """The right statements that a misconception must be told from: those of its points, or all."""
    chosen = [point for point in points if point.point.id in item.points] or list(points)
    return [as_clause(item.right), *(clause for point in chosen for clause in point.statements.clauses)]


def _against(statements: Statements, rivals: Sequence[Clause]) -> Statements:
    right = {clause.words[i].stem for clause in rivals for i in clause.content}
    telling = tuple(
        frozenset(i for i in clause.content if clause.words[i].stem not in right)
        for clause in statements.clauses
    )
    return Statements(statements.vectors, statements.clauses, telling)


def _figures(point: Point) -> tuple[Figure, ...]:
    """A point's numbers; the tokens that its wordings speak of are what its figures hold for."""
    worded = [normalise(text).text for text in (point.means, *point.statements)]
    given = tuple(q for text in worded for q in quantities(text) if q.kind == "token")
    return tuple(
        Figure(number, tuple(compile_anchor(text) for text in number.of), given) for number in point.numbers
    )
