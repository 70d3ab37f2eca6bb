"""What a grounded answer consists of: claims, citations, gates and the passages that were considered."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Style = Literal["quote", "cited", "free"]
STYLES: tuple[Style, ...] = ("quote", "cited", "free")
Status = Literal["answered", "abstained"]
# Reason of an abstention -> the gate that decided it; the other reasons are no gate's.
DECIDES = {
    "off_topic": "retrieval",
    "not_stated": "stated",
    "model_not_found": "model",
    "unsupported": "support",
}


@dataclass(frozen=True, slots=True)
class Citation:
    """Characters [start, end) of a passage; `text` is exactly what stands there."""

    passage: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of an answer. `why` says what is wrong with an unsupported one; empty otherwise."""

    text: str
    supported: bool
    citation: Citation | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """A check that can end in an abstention: passed when `value` is at least `threshold`."""

    name: str
    value: float
    threshold: float
    passed: bool

    @classmethod
    def of(cls, name: str, value: float, threshold: float) -> Gate:
        """The gate with its verdict."""
        return cls(name, value, threshold, value >= threshold)


@dataclass(frozen=True, slots=True)
class Considered:
    """A passage as the question found it.

    `similarity` is the cosine of the best sentence, `terms` the question's words that occur, `coverage` their
    share by weight, `stated` the reader's probability that it states the answer (None when it wasn't read).
    """

    passage: str
    similarity: float
    coverage: float
    relevance: float
    terms: tuple[str, ...]
    stated: float | None = None


@dataclass(frozen=True, slots=True)
class AskResult:
    """A grounded answer or an abstention, with everything that decided between them.

    `reason` is empty for an answer; otherwise no_passages, off_topic, not_stated, model_not_found, unsupported,
    truncated or cancelled.
    `answer` is empty when abstained; the claims keep what was struck out.
    """

    status: Status
    answer: str
    reason: str
    citations: tuple[Citation, ...]
    claims: tuple[Claim, ...]
    support: float
    gates: tuple[Gate, ...]
    style: Style
    passages: tuple[Considered, ...]
    versions: dict[str, Any]
    usage: dict[str, int] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    results: tuple[dict[str, Any], ...] = ()

    @property
    def decided_by(self) -> str:
        """The gate that kept the answer back, or ''. In the free style others may have failed and stopped nothing."""
        return DECIDES.get(self.reason, "")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {**asdict(self), "decided_by": self.decided_by}
