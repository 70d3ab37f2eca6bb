"""Grading against reference answers alone: points are the clauses of the nearest one; gates overrule the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from engine.alignment import Known
from engine.clauses import clauses
from engine.described import Described, describe
from engine.embeddings import Embedder
from engine.features import similarities
from engine.gates import OPEN, Gate, gates, with_their_figures
from engine.judgement import Chances, JudgementModel, compared, row_of
from engine.verdict import Label, State

LONGEST = 100  # words of an answer that are compared as a whole; longer ones give their nearest sentences
SIDES = 128  # questions whose references are kept described
OLD_WORD = 0.35  # weight of a word of the question in a point
SUPPORTED = 0.62
HALF_SUPPORTED = 0.4
ACCEPTED_SCORE = 0.7
CERTAIN = 0.65


@dataclass(frozen=True, slots=True)
class Part:
    """One point of a reference: its clause, its state in the answer, and how far its words are covered."""

    text: str
    weight: float
    state: State
    support: float


@dataclass(frozen=True, slots=True)
class Held:
    """An answer held against references."""

    label: Label
    score: float
    parts: tuple[Part, ...]
    chances: Chances
    why: str
    close: bool


def hold(
    question: str,
    answer: str,
    references: Sequence[str],
    embedder: Embedder,
    model: JudgementModel,
    fold: int | None = None,
) -> Held:
    """The verdict on a normalised answer; `references` are alternatives."""
    chosen = prepared(answer, references, embedder)
    asked, *theirs = _side(question, tuple(references), embedder)
    ours = describe([chosen], question, embedder)[0]
    return settle(question, ours, theirs, asked, embedder.knows, model, fold)


@lru_cache(maxsize=SIDES)
def _side(question: str, references: tuple[str, ...], embedder: Embedder) -> tuple[Described, ...]:
    """The question and its references, described once; the next answers to it find them here."""
    return tuple(describe([question, *references], question, embedder))


def settle(
    question: str,
    ours: Described,
    theirs: Sequence[Described],
    asked: Described,
    known: Known,
    model: JudgementModel,
    fold: int | None = None,
) -> Held:
    """The verdict from described texts: the model's chances, then the gates, then the points."""
    row, nearest = row_of(compared(ours, theirs, asked, known))
    chances = model.chances(row, fold)
    gate = gates(question, ours, theirs, nearest, known)
    label = decide(chances, model, gate)
    if label == "correct":
        gate = OPEN
    parts = _parts(ours, theirs[nearest], asked, known, label, chances, gate)
    if gate.label == "incorrect":
        parts = _voided(parts)
    label, score = _scored(label, parts)
    close = gate.label is None and abs(chances.correct - model.accept) < 0.05
    return Held(label, score, parts, chances, gate.why, close)


def decide(chances: Chances, model: JudgementModel, gate: Gate) -> Label:
    """The label that the gates force or leave to the model."""
    if gate.label is not None and not (gate.doubtful and chances.correct >= CERTAIN):
        return gate.label
    if chances.contradictory >= max(model.contradict, chances.correct):
        return "contradictory"
    if chances.correct >= model.accept and chances.contradictory < model.veto:
        return gate.ceiling if gate.label is None else "correct"
    return "incorrect"


def _parts(
    ours: Described,
    theirs: Described,
    asked: Described,
    known: Known,
    label: Label,
    chances: Chances,
    gate: Gate,
) -> tuple[Part, ...]:
    """Every clause of the reference with the share of its words that the answer covers, weighted by rarity."""
    old = {word.stem for word in asked.words}
    got = _covered(ours, theirs, known)
    weights = np.array([OLD_WORD if w.stem in old else 1.0 for w in theirs.words]) * theirs.weights
    out = []
    for number, clause in enumerate(theirs.parts or (theirs.whole,)):
        rows = [i for i, word in enumerate(theirs.words) if clause.start <= word.start < clause.end]
        mass = float(weights[rows].sum())
        if not rows or mass <= 0:
            continue
        support = float((got[rows] * weights[rows]).sum()) / mass
        text = theirs.text[clause.start : clause.end]
        state: State = (
            "contradicted" if number in gate.against else _state(support, label, chances, bool(gate.against))
        )
        out.append(Part(text, mass, state, round(support, 3)))
    return tuple(out) or (Part(theirs.text, 1.0, _state(chances.correct, label, chances, False), 0.0),)


def _covered(
    ours: Described, theirs: Described, known: Known
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    similar = similarities(ours, theirs, known)
    return np.asarray(similar.max(axis=1) if similar.size else np.zeros(len(theirs.words)), dtype=np.float64)


def _voided(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The points of an answer that states nothing."""
    return tuple(replace(part, state="missing") for part in parts)


def _state(support: float, label: Label, chances: Chances, elsewhere: bool) -> State:
    """A clause is met by its words; how sure the model is of the whole moves the bar by up to a third."""
    ease = 0.3 * (chances.correct - 0.5) + (0.15 if label == "correct" else 0.0)
    if label == "contradictory" and not elsewhere:
        return "contradicted" if support >= HALF_SUPPORTED else "missing"
    if support >= SUPPORTED - ease:
        return "met"
    return "partial" if support >= HALF_SUPPORTED - ease else "missing"


def _scored(label: Label, parts: Sequence[Part]) -> tuple[Label, float]:
    """The share of the reference's weight that is stated; the label decides on which side of the bar it lies."""
    total = sum(part.weight for part in parts)
    credit = {"met": 1.0, "partial": 0.5, "missing": 0.0, "contradicted": 0.0}
    share = sum(part.weight * credit[part.state] for part in parts) / total
    if label == "correct":
        return label, round(max(share, ACCEPTED_SCORE), 4)
    if label == "contradictory":
        return label, round(min(share, 0.5), 4)
    share = min(share, ACCEPTED_SCORE - 0.05)
    if label == "incorrect" and any(part.state == "met" for part in parts):
        label = "partial"
    return label, round(share if label == "partial" else min(share, 0.2), 4)


def prepared(answer: str, references: Sequence[str], embedder: Embedder) -> str:
    """An answer as it is compared: equal figures written alike, and of a long answer the nearest sentences."""
    return nearest_sentences(with_their_figures(answer, references), references, embedder)


def nearest_sentences(answer: str, references: Sequence[str], embedder: Embedder) -> str:
    """The answer, or of a long one the sentences that come nearest to a reference, in their own order."""
    if len(answer.split()) <= LONGEST:
        return answer
    pieces = [answer[c.start : c.end] for c in clauses(answer)]
    near = (embedder.encode(pieces) @ embedder.encode(references).T).max(axis=1)
    kept: set[int] = set()
    words = 0
    for i in np.argsort(-near, kind="stable"):
        words += len(pieces[i].split())
        if words > LONGEST and kept:
            break
        kept.add(int(i))
    return ". ".join(pieces[i] for i in sorted(kept)) + "."
