"""An evaluation's figures as tables and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from interview.calculators.formulas.result import Chart, Series
from interview.calculators.svg import svg
from interview.documents.models import Evaluation

NAMES = {
    "balanced_accuracy": "Balanced accuracy of answering or abstaining",
    "answered_when_answerable": "Answered, of those with an answer",
    "abstained_when_unanswerable": "Abstained, of those without (recall)",
    "abstention_precision": "Without an answer, of those abstained on (precision)",
    "exact_match": "Exact match, of those with an answer",
    "f1": "F1 of words, of those with an answer",
    "retrieval_in_5": "Right passage among the five nearest",
    "unsupported_claims": "Unsupported claims, of all made",
    "unsupported_claims_answerable": "Unsupported claims where there is an answer",
    "unsupported_claims_unanswerable": "Unsupported claims where there is none",
    "wrong_when_answered": "Wrong (F1 under 0.5), of those answered",
}
# Why a question was not answered, in few words.
ABSTAINED = {
    "no_passages": "nothing to look at",
    "off_topic": "no passage near enough",
    "not_stated": "no passage states it",
    "model_not_found": "the model found nothing",
    "unsupported": "not supported by what was cited",
    "truncated": "the answer did not end",
}
COMPARED = ("balanced_accuracy", "f1", "abstained_when_unanswerable", "unsupported_claims")


@dataclass(frozen=True)
class Figure:
    """One figure both ways, each with its interval or None."""

    name: str
    grounded: dict[str, float] | None
    alone: dict[str, float] | None


def figures(evaluation: Evaluation) -> list[Figure]:
    """All figures of a finished evaluation."""
    results = evaluation.results
    if results is None:
        return []
    return [
        Figure(title, results["grounded"].get(name), results["alone"].get(name))
        for name, title in NAMES.items()
    ]


@dataclass(frozen=True)
class Compared:
    """One evaluation's line in the comparison."""

    evaluation: Evaluation
    n_questions: int
    values: list[dict[str, float] | None]
    versions: str


def compared(evaluations: list[Evaluation]) -> list[Compared]:
    """Finished evaluations with the figures they are compared by."""
    return [
        Compared(
            e,
            len(e.results["rows"]),
            [e.results["grounded"].get(name) for name in COMPARED],
            version_words(e.results["versions"]),
        )
        for e in evaluations
        if e.results
    ]


def version_words(versions: dict[str, Any]) -> str:
    """Model, adapter and thresholds in a few words."""
    adapter = versions.get("adapter") or "no adapter"
    thresholds = versions.get("thresholds", {}).get("version", "")
    model = versions.get("model", {}).get("name", "")
    return ", ".join(
        str(part)[:40] for part in (model, adapter, f"thresholds {thresholds}" if thresholds else "") if part
    )


def rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Every question with what came of it, and why where it was not answered."""
    found = (evaluation.results or {}).get("rows", [])
    return [{**row, "why": ABSTAINED.get(row["reason"], row["reason"])} for row in found]


@dataclass(frozen=True)
class Point:
    """One point of both curves: the share that is answered, and how much of that is wrong."""

    coverage: float
    grounded: float
    alone: float


def curve(evaluation: Evaluation) -> list[Point]:
    """The numbers of the picture."""
    if evaluation.results is None:
        return []
    curves = evaluation.results["risk_coverage"]
    pairs = zip(curves["grounded"], curves["alone"], strict=False)
    return [Point(with_["coverage"], with_["risk"], without["risk"]) for with_, without in pairs]


def chart(evaluation: Evaluation) -> SafeString | None:
    """Risk against coverage, grounded and not."""
    if evaluation.results is None:
        return None
    curves = evaluation.results["risk_coverage"]
    series = tuple(
        Series(label, tuple((100 * p["coverage"], 100 * p["risk"]) for p in curves[name]))
        for name, label in (("grounded", "with passages"), ("alone", "without"))
    )
    made = Chart(
        "line", "Risk against coverage", "% of the questions answered, surest first", "% wrong", series
    )
    return mark_safe(svg(made, 1))
