"""Figures of an evaluation: exact match and F1 as SQuAD counts them, abstention by halves, risk and coverage, intervals."""

from __future__ import annotations

import random
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

RESAMPLES = 500
ARTICLES = re.compile(r"\b(a|an|the)\b")
Row = dict[str, Any]


def squashed(text: str) -> list[str]:
    """The words of an answer without case, punctuation and articles."""
    bare = "".join(" " if mark in string.punctuation else mark for mark in text.lower())
    return ARTICLES.sub(" ", bare).split()


def exact(answer: str, golds: Sequence[str]) -> float:
    """1 when the answer is one of the right ones."""
    return float(any(squashed(answer) == squashed(gold) for gold in golds))


def f1(answer: str, golds: Sequence[str]) -> float:
    """The best overlap of words with a right answer."""
    return max((_f1(squashed(answer), squashed(gold)) for gold in golds), default=0.0)


def _f1(said: list[str], gold: list[str]) -> float:
    same = sum((Counter(said) & Counter(gold)).values())
    return 2 * same / (len(said) + len(gold)) if same else 0.0


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Every figure with its 95 % bootstrap interval; None where there is nothing to count."""
    return {name: _interval(rows, measure) for name, measure in MEASURES.items()}


def _interval(
    rows: Sequence[Row], measure: Callable[[Sequence[Row]], float | None]
) -> dict[str, float] | None:
    value = measure(rows)
    if value is None:
        return None
    draw = random.Random(20261130)
    found = []
    for _ in range(RESAMPLES):
        drawn = measure([draw.choice(rows) for _ in rows])
        if drawn is not None:
            found.append(drawn)
    found.sort()
    low, high = found[int(0.025 * len(found))], found[int(0.975 * (len(found) - 1))]
    return {"value": round(value, 4), "low": round(low, 4), "high": round(high, 4)}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _answerable(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["answers"]]


def _unanswerable(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not row["answers"]]


def _balanced(rows: Sequence[Row]) -> float | None:
    halves = [answered_share(rows), abstained_share(rows)]
    return None if None in halves else sum(half for half in halves if half is not None) / 2


def answered_share(rows: Sequence[Row]) -> float | None:
    """Of the questions that have an answer, how many were answered."""
    return _mean([float(not row["abstained"]) for row in _answerable(rows)])


def abstained_share(rows: Sequence[Row]) -> float | None:
    """Of the questions without an answer, how many were abstained on: the recall of abstaining."""
    return _mean([float(row["abstained"]) for row in _unanswerable(rows)])


def _abstention_precision(rows: Sequence[Row]) -> float | None:
    return _mean([float(not row["answers"]) for row in rows if row["abstained"]])


def _retrieved(rows: Sequence[Row]) -> float | None:
    return _mean([float(row["retrieved"]) for row in _answerable(rows) if row["retrieved"] is not None])


def _unsupported(rows: Sequence[Row]) -> float | None:
    claims = sum(row["n_claims"] for row in rows)
    return sum(row["n_unsupported"] for row in rows) / claims if claims else None


def _wrong(rows: Sequence[Row]) -> float | None:
    return _mean([float(row["f1"] < 0.5) for row in rows if not row["abstained"]])


MEASURES: dict[str, Callable[[Sequence[Row]], float | None]] = {
    "balanced_accuracy": _balanced,
    "answered_when_answerable": answered_share,
    "abstained_when_unanswerable": abstained_share,
    "abstention_precision": _abstention_precision,
    "exact_match": lambda rows: _mean([row["exact"] for row in _answerable(rows)]),
    "f1": lambda rows: _mean([row["f1"] for row in _answerable(rows)]),
    "retrieval_in_5": _retrieved,
    "unsupported_claims": _unsupported,
    "unsupported_claims_answerable": lambda rows: _unsupported(_answerable(rows)),
    "unsupported_claims_unanswerable": lambda rows: _unsupported(_unanswerable(rows)),
    "wrong_when_answered": _wrong,
}


def risk_coverage(rows: Sequence[Row], points: int = 20) -> list[dict[str, float]]:
    """Answering only the surest share of the questions: coverage, and the share of wrong answers (F1 under 0.5) in it."""
    ranked = sorted(rows, key=lambda row: -row["confidence"])
    found = []
    # With fewer questions than points several steps end at the same question.
    for count in sorted({max(1, round(len(ranked) * step / points)) for step in range(1, points + 1)}):
        taken = ranked[:count]
        wrong = sum(not row["answers"] or row["told_f1"] < 0.5 for row in taken)
        found.append({"coverage": round(len(taken) / len(ranked), 4), "risk": round(wrong / len(taken), 4)})
    return found
