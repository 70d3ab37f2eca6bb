"""What a request gives while it runs and when it ends. Imports no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

FinishReason = Literal["stop", "length", "stop_string", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class StartEvent:
    """The request left the queue."""

    prompt_tokens: int
    rendered_prompt: str
    cached_tokens: int
    queue_ms: float


@dataclass(frozen=True, slots=True)
class Alternative:
    """A candidate token. `probability` is before any step, `kept` after all of them (0 when filtered out);
    `after` is its probability after each step of the event, in order.
    """

    token_id: int
    text: str
    probability: float
    kept: float
    after: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class StepSeen:
    """One step of sampling that was taken: its name and how many tokens it left."""

    name: str
    kept: int


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """One token. `text` is the text it released: empty while bytes or a possible stop string are held back.

    `logprob` (natural log) and `entropy` (nats) are of the model's own distribution, before any step; None
    unless `Sampling.logprobs` is set. `masked` is the probability mass a constraint removed. `steps` are the
    steps in order; `alternatives` are the likeliest tokens and, where it isn't among them, the chosen one.
    """

    index: int
    token_id: int
    text: str
    logprob: float | None
    entropy: float | None
    alternatives: tuple[Alternative, ...]
    at_ms: float
    masked: float | None = None
    steps: tuple[StepSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """Everything a finished request leaves."""

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    error: dict[str, str] | None
    usage: dict[str, int]
    timings: dict[str, float | None]
    rendered_prompt: str
    parsed: Any = None
    stats: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `tokens` repeats `token_ids` under the command line's name."""
        return {**asdict(self), "token_ids": list(self.token_ids), "tokens": list(self.token_ids)}


@dataclass(frozen=True, slots=True)
class FinishEvent:
    """The last event of every request."""

    result: Result


Event = StartEvent | TokenEvent | FinishEvent
