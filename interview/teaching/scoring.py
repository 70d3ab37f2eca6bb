"""How points are counted: from a verdict and a teacher's overrides to a share of the points. No database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

# The engine's own credits (engine/grading.py); a test holds them against each other.
CREDIT = {"met": 1.0, "partial": 0.5, "missing": 0.0, "contradicted": 0.0}
CENT = Decimal("0.01")


@dataclass(frozen=True)
class Ruling:
    """A teacher's word: on one key point (`point`, `state`), or on the whole answer (`share`)."""

    point: str = ""
    state: str = ""
    share: float | None = None


def share_of(
    verdict: Mapping[str, Any] | None, rubric: Mapping[str, Any], rulings: Iterable[Ruling]
) -> float | None:
    """The share of the points an answer earns, or None while nobody has assessed it.

    A ruling on the whole answer decides alone. Rulings on points replace the states the grader found and leave its
    deductions for misconceptions as they are.
    """
    rulings = list(rulings)
    for ruling in reversed(rulings):
        if not ruling.point and ruling.share is not None:
            return ruling.share
    states = {ruling.point: ruling.state for ruling in rulings if ruling.point}
    if not assessed(verdict):
        points = [point["id"] for point in rubric["points"]]
        return _earned(rubric, states) if states and set(points) <= set(states) else None
    assert verdict is not None
    if not states:
        return float(verdict["score"])
    found = {point["id"]: point["state"] for point in verdict["points"]}
    deducted = max(0.0, _earned(rubric, found) - float(verdict["score"]))
    return round(max(0.0, _earned(rubric, found | states) - deducted), 4)


def assessed(verdict: Mapping[str, Any] | None) -> bool:
    """Whether the grader came to a score; an empty answer has one (nothing)."""
    return verdict is not None and (verdict["verdict"] != "not_assessed" or "empty" in verdict["flags"])


def found_points(verdict: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The key points as the grader found them; none where it came to no score, for its “missing” says nothing then."""
    return list(verdict["points"]) if verdict is not None and assessed(verdict) else []


def why_not_assessed(verdict: Mapping[str, Any] | None) -> str:
    """What kept the grader from a score, in its words; empty where it has one or wasn't there yet."""
    if verdict is None or assessed(verdict):
        return ""
    return next((str(point["why"]) for point in verdict["points"] if point["why"]), "")


def _earned(rubric: Mapping[str, Any], states: Mapping[str, str]) -> float:
    asked = sum(point.get("weight", 1) for point in rubric["points"] if not point.get("optional", False))
    earned = sum(
        point.get("weight", 1) * CREDIT[states.get(point["id"], "missing")] for point in rubric["points"]
    )
    return float(min(1.0, earned / asked)) if asked else 0.0


def review_reason(verdict: Mapping[str, Any] | None) -> str:
    """Why a teacher should look at an answer before trusting its score; empty when there is no reason."""
    if not assessed(verdict):
        return "not_assessed"
    assert verdict is not None
    return "uncertain" if "needs_review" in verdict["flags"] else ""


def still_to_review(verdict: Mapping[str, Any] | None, share: float | None, rulings: Iterable[Ruling]) -> str:
    """Why an answer waits for a teacher after their rulings; one without a score waits whatever was ruled on a point."""
    if share is None:
        return "not_assessed"
    return "" if verdict is None or list(rulings) else review_reason(verdict)


def rounded(points: Decimal | float) -> Decimal:
    """Points to two decimals, halves up, as they are shown and exported."""
    return Decimal(str(points)).quantize(CENT, ROUND_HALF_UP)


def credited(earned: Decimal, credit: int) -> Decimal:
    """Points after the late credit in percent."""
    return rounded(earned * credit / 100)
