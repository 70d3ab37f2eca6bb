"""The grader: similarity proposes, gates decide, and the score follows from the points."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace

import numpy as np

from engine.alignment import Known
from engine.carried import carried, denied_on
from engine.compiled import CompiledRubric, compile_rubric
from engine.embeddings import Embedder, Vectors
from engine.intake import Intake, intake
from engine.named import Named, named
from engine.points import Judged, judge, states_wrong
from engine.reference_verdict import by_reference
from engine.rubric import Rubric
from engine.stance import Stance, stance
from engine.units import PAIR, Unit
from engine.verdict import GRADER, Label, PointVerdict, Shown, Span, Verdict

CREDIT = {"met": 1.0, "partial": 0.5, "missing": 0.0, "contradicted": 0.0}
CORRECT = 0.7
SOME = 0.2
REVIEW_BAND = 0.05
MAX_PENALTY = 0.5
CACHED_RUBRICS = 256
ROLE_SIMILARITY = 0.5


class Grader:
    """Grades answers against a rubric, or against a reference answer alone; threads may share one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: Known = embedder.knows
        self._rubrics: OrderedDict[str, Future[CompiledRubric]] = OrderedDict()
        self._lock = threading.Lock()

    def grade(
        self,
        *,
        question: str,
        answer: str,
        rubric: Rubric | None = None,
        reference: str | Sequence[str] | None = None,
    ) -> Verdict:
        """Verdict on an answer; raises ValueError without a rubric and without a reference.

        With both, the rubric decides and the reference only shows whether the answer was copied.
        """
        references = [reference] if isinstance(reference, str) else list(reference or ())
        references = [text for text in references if text.strip()]
        if rubric is None and not references:
            raise ValueError("a rubric or a reference answer is needed")
        taken = intake(question, answer, references, self._known)
        if rubric is None:
            return by_reference(question, references, taken, self._embedder)
        return self._by_rubric(rubric, taken)

    def _by_rubric(self, rubric: Rubric, taken: Intake) -> Verdict:
        if taken.refusal is not None:
            return _without_work([point.id for point in rubric.points], taken)
        compiled = self._compiled(rubric)
        if denied_on(compiled, taken.normalised.text, self._embedder):
            taken = replace(taken, pieces=carried(taken))
        names = named(compiled, taken.pieces, self._known)
        taken = replace(taken, pieces=names.pieces)
        vectors = self._embedder.encode([piece.text for piece in taken.pieces])
        judged, shown = _judge_all(compiled, names, vectors, self._known)
        return _verdict(rubric, taken, judged, shown)

    def _compiled(self, rubric: Rubric) -> CompiledRubric:
        """The rubric made ready, once: a thread that wants it meanwhile waits for the one that is at it."""
        key = rubric.hash
        with self._lock:
            ready = self._rubrics.get(key)
            if ready is not None:
                self._rubrics.move_to_end(key)
            else:
                mine = self._rubrics[key] = Future()
                while len(self._rubrics) > CACHED_RUBRICS:
                    self._rubrics.popitem(last=False)
        if ready is not None:
            return ready.result()
        try:
            mine.set_result(compile_rubric(rubric, self._embedder))
        except BaseException as error:
            with self._lock:
                self._rubrics.pop(key, None)
            mine.set_exception(error)
        return mine.result()


def _judge_all(
    compiled: CompiledRubric, names: Named, vectors: Vectors, known: Known
) -> tuple[list[Judged], list[tuple[str, int, str]]]:
    pieces = names.pieces
    wrong = {
        item.misconception.id: [
            stance(piece, vector, item.statements, known) for piece, vector in _both(pieces, vectors)
        ]
        for item in compiled.misconceptions
    }
    wrong = _unless_denied(wrong, len(pieces))
    own = [
        [stance(piece, vector, point.statements, known) for piece, vector in _both(pieces, vectors)]
        for point in compiled.points
    ]
    rivals = [max(stances[i].agrees for stances in own) for i in range(len(pieces))]
    swapped = _role_swaps(compiled, names, vectors)
    judged = []
    for p, point in enumerate(compiled.points):
        against = [
            wrong[item.misconception.id]
            for item in compiled.misconceptions
            if point.point.id in item.misconception.points
        ]
        found = [hits[p] for hits in names.hits]
        judged.append(judge(point, pieces, own[p], against, rivals, swapped[p], found, known))
    return judged, _shown(compiled, pieces, rivals, wrong)


def _unless_denied(wrong: dict[str, list[Stance]], pieces: int) -> dict[str, list[Stance]]:
    """A piece states no misconception if it comes nearer to denying another ("it isn't quadratic" for "it never grows")."""
    denied = [max((of[i].denies for of in wrong.values()), default=0.0) for i in range(pieces)]
    return {
        name: [replace(one, states=0.0) if one.states < denied[i] else one for i, one in enumerate(stances)]
        for name, stances in wrong.items()
    }


def _both(pieces: Sequence[Unit], vectors: Vectors) -> list[tuple[Unit, Vectors]]:
    return list(zip(pieces, vectors, strict=True))


def _shown(
    compiled: CompiledRubric,
    pieces: Sequence[Unit],
    rivals: Sequence[float],
    wrong: dict[str, list[Stance]],
) -> list[tuple[str, int, str]]:
    """Misconceptions that a piece states, closer than it states any point: (id, piece, right one)."""
    out = []
    for item in compiled.misconceptions:
        best: tuple[float, int] | None = None
        for i, piece in enumerate(pieces):
            found = wrong[item.misconception.id][i]
            if piece.size == PAIR or piece.clause.hedged or not states_wrong(found, rivals[i]):
                continue
            if best is None or found.states > best[0]:
                best = (found.states, i)
        if best is not None:
            out.append((item.misconception.id, best[1], item.misconception.right))
    return out


def _role_swaps(compiled: CompiledRubric, names: Named, vectors: Vectors) -> list[list[int]]:
    """For each point, the pieces in which its subject got another point's predicate or vice versa."""
    out: list[list[int]] = [[] for _ in compiled.points]
    partners = sorted(compiled.pairs)
    for i, piece in enumerate(names.pieces):
        if piece.size == PAIR or piece.clause.cuts:
            continue
        found = names.hits[i]
        for p, q in partners:
            statements = compiled.points[q].statements
            if not _swapped(found[p], found[q]):
                continue
            if float(np.max(statements.vectors @ vectors[i])) >= ROLE_SIMILARITY:
                out[p].append(i)
                out[q].append(i)
    return out


def _swapped(subject: Sequence[bool], predicate: Sequence[bool]) -> bool:
    """The first anchors of one point with all but the first of another, and nothing else of either."""
    if len(subject) < 2 or len(predicate) < 2:
        return False
    return subject[0] and not any(subject[1:]) and not predicate[0] and all(predicate[1:])


def _verdict(
    rubric: Rubric, taken: Intake, judged: Sequence[Judged], shown: Sequence[tuple[str, int, str]]
) -> Verdict:
    points = []
    for point, found in zip(rubric.points, judged, strict=True):
        evidence = None if found.piece is None else _span(taken, found.piece)
        points.append(PointVerdict(point.id, found.state, evidence, found.why))
    mistakes = tuple(Shown(name, _span(taken, piece), right) for name, piece, right in shown)
    score = _score(rubric, points, mistakes)
    label = _label(rubric, score, points)
    flags = list(taken.flags)
    near = min(abs(score - CORRECT), abs(score - SOME)) < REVIEW_BAND
    if label != "not_assessed" and (near or any(found.close for found in judged)):
        flags.append("needs_review")
    return Verdict(score, label, tuple(points), mistakes, tuple(flags), GRADER)


def _score(rubric: Rubric, points: Sequence[PointVerdict], mistakes: Sequence[Shown]) -> float:
    """Credit by weight; optional points only add; misconceptions cost their penalty, down to 0."""
    asked = sum(point.weight for point in rubric.points if not point.optional)
    earned = sum(
        point.weight * CREDIT[found.state] for point, found in zip(rubric.points, points, strict=True)
    )
    costs = {item.id: item.penalty for item in rubric.misconceptions}
    penalty = min(MAX_PENALTY, sum(costs[mistake.id] for mistake in mistakes))
    return round(max(0.0, min(1.0, earned / asked) - penalty), 4)


def _label(rubric: Rubric, score: float, points: Sequence[PointVerdict]) -> Label:
    asked = [found for point, found in zip(rubric.points, points, strict=True) if not point.optional]
    contradicted = any(found.state == "contradicted" for found in asked)
    if contradicted:
        return "contradictory" if score < CORRECT else "partial"
    if score >= CORRECT:
        return "correct"
    some = any(found.state == "met" for found in asked)
    return "partial" if some or score >= SOME else "incorrect"


def _span(taken: Intake, piece: int) -> Span:
    return taken.normalised.original_span(*taken.pieces[piece].span)


def _without_work(ids: Sequence[str], taken: Intake) -> Verdict:
    refusal = taken.refusal
    assert refusal is not None
    points = tuple(PointVerdict(name, "missing", None, refusal.why) for name in ids)
    return Verdict(0.0, refusal.verdict, points, (), taken.flags, GRADER)
