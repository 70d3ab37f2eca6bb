"""What the grader says of an answer: a verdict, a state for every point, misconceptions, flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

State = Literal["met", "partial", "missing", "contradicted"]
Label = Literal["correct", "partial", "incorrect", "contradictory", "not_assessed"]
Span = tuple[int, int]
GRADER = "prefill-grader-6"


@dataclass(frozen=True, slots=True)
class PointVerdict:
    """The state of one point, the span of the original answer that decided it, and why in one sentence."""

    id: str
    state: State
    evidence: Span | None
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; `evidence` is [start, end] in characters of the original answer."""
        evidence = list(self.evidence) if self.evidence else None
        return {"id": self.id, "state": self.state, "evidence": evidence, "why": self.why}


@dataclass(frozen=True, slots=True)
class Shown:
    """A misconception that the answer shows, where, and the right statement."""

    id: str
    evidence: Span
    right: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {"id": self.id, "evidence": list(self.evidence), "right": self.right}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of grading one answer."""

    score: float
    verdict: Label
    points: tuple[PointVerdict, ...]
    misconceptions: tuple[Shown, ...]
    flags: tuple[str, ...]
    grader: str

    def to_dict(self) -> dict[str, Any]:
        """The grade result of the command line and the API."""
        return {
            "score": self.score,
            "verdict": self.verdict,
            "points": [point.to_dict() for point in self.points],
            "misconceptions": [shown.to_dict() for shown in self.misconceptions],
            "flags": list(self.flags),
            "grader": self.grader,
        }
