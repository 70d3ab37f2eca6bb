"""The verdict on an answer for which there is a reference and no rubric: its clauses are the points."""

from __future__ import annotations

from collections.abc import Sequence

from engine.alignment import Known, align, coverage
from engine.clauses import sentences
from engine.embeddings import Embedder
from engine.gates import copies_question
from engine.intake import Intake
from engine.judgement import load_model
from engine.normalise import normalise
from engine.reference import Held, Part, hold
from engine.units import Unit, units
from engine.verdict import GRADER, PointVerdict, Span, Verdict

FINAL = ("empty", "too_long", "language")  # refusals that no reference changes
WHYS = {
    "met": "This states it.",
    "partial": "This states a part of it.",
    "contradicted": "This says the opposite of it.",
    "missing": "Nothing in the answer states it.",
}


def by_reference(question: str, references: Sequence[str], taken: Intake, embedder: Embedder) -> Verdict:
    """The verdict against the nearest of the references, which are alternatives."""
    texts = [normalise(reference).text for reference in references]
    refused = refusal(question, taken)
    if refused:
        return _nothing(texts[0], refused, taken)
    held = hold(question, taken.normalised.text, texts, embedder, load_model())
    return verdict_of(held, taken, embedder.knows)


def refusal(question: str, taken: Intake) -> str:
    """Why an answer isn't compared at all, or nothing."""
    if taken.refusal is not None and any(flag in FINAL for flag in taken.flags):
        return taken.refusal.why
    if copies_question(taken.normalised.text, question):
        return "This only repeats the question."
    if "keyword_list" in taken.flags and _many_terms(taken.normalised.text):
        return "This lists terms without saying anything about them."
    if all(clause.question for clause in sentences(taken.normalised.text)):
        return "This asks and states nothing."
    return ""


def _many_terms(text: str) -> bool:
    """A telegraphic answer is none: three or more items between commas, or lines, are a list."""
    return sum(char in ",;\n" for char in text) >= 2


def verdict_of(held: Held, taken: Intake, known: Known) -> Verdict:
    """The verdict with the piece of the learner's answer that decided each clause."""
    pieces = units(taken.normalised.text)
    points = tuple(_point(i, part, held, pieces, taken, known) for i, part in enumerate(held.parts, 1))
    flags = [flag for flag in taken.flags if flag not in ("restates_question", "keyword_list")]
    if held.close:
        flags.append("needs_review")
    return Verdict(held.score, held.label, points, (), tuple(flags), GRADER)


def _point(
    number: int, part: Part, held: Held, pieces: Sequence[Unit], taken: Intake, known: Known
) -> PointVerdict:
    why = f"“{part.text}”: {held.why or WHYS[part.state]}"
    evidence = None if part.state == "missing" else _evidence(part, pieces, taken, known)
    return PointVerdict(f"clause-{number}", part.state, evidence, why)


def _evidence(part: Part, pieces: Sequence[Unit], taken: Intake, known: Known) -> Span | None:
    wanted = sentences(part.text)
    if not pieces or not wanted:
        return None
    best = max(
        pieces,
        key=lambda piece: coverage(wanted[0], align(piece.clause, wanted[0], known)) - 0.05 * piece.size,
    )
    return taken.normalised.original_span(*best.span)


def _nothing(reference: str, why: str, taken: Intake) -> Verdict:
    assert why
    label = taken.refusal.verdict if taken.refusal is not None else "incorrect"
    point = PointVerdict("clause-1", "missing", None, f"“{reference}”: {why}")
    flags = list(taken.flags)
    if "repeats the question" in why and "restates_question" not in flags:
        flags.append("restates_question")
    return Verdict(0.0, label, (point,), (), tuple(flags), GRADER)
