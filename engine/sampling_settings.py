"""How the next token is chosen: sampling settings, each checked when it is set. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from engine.values import bad, known_keys, real, whole

ORDERS = ("temperature_first", "temperature_last")
MAX_SEED = 2**63 - 1
MAX_STOP = 16
# Beyond these, fp32 logits of a real model become infinite or NaN, and what is drawn means nothing.
COLDEST = 1e-4
WEAKEST_PENALTY = 0.01
MAX_BIAS = 1e4


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen. The defaults are greedy; an invalid value raises `InvalidRequest`."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    no_repeat_ngram: int = 0
    stop: tuple[str, ...] = ()
    max_tokens: int = 256
    seed: int | None = None
    order: str = "temperature_first"
    logprobs: int = 0

    def __post_init__(self) -> None:
        if self.temperature != 0 or isinstance(self.temperature, bool):
            real("temperature", self.temperature, COLDEST, 100, f"0 (greedy), or {COLDEST:g} to 100")
        whole("top_k", self.top_k, 0, 10_000_000)
        real("top_p", self.top_p, 0, 1, "above 0, at most 1 (1 is off)", open_low=True)
        real("min_p", self.min_p, 0, 1, "0 (off) to 1")
        real("typical_p", self.typical_p, 0, 1, "above 0, at most 1 (1 is off)", open_low=True)
        penalty, allowed = self.repetition_penalty, f"{WEAKEST_PENALTY:g} to 100, 1 is off"
        real("repetition_penalty", penalty, WEAKEST_PENALTY, 100, allowed)
        real("frequency_penalty", self.frequency_penalty, -100, 100, "-100 to 100, 0 is off")
        real("presence_penalty", self.presence_penalty, -100, 100, "-100 to 100, 0 is off")
        whole("no_repeat_ngram", self.no_repeat_ngram, 0, 1000)
        whole("max_tokens", self.max_tokens, 1, 10_000_000)
        whole("logprobs", self.logprobs, 0, 100)
        if self.seed is not None:
            whole("seed", self.seed, 0, MAX_SEED)
        if self.order not in ORDERS:
            raise bad("order", self.order, " or ".join(ORDERS))
        object.__setattr__(self, "stop", _stop_strings(self.stop))
        object.__setattr__(self, "logit_bias", _logit_bias(self.logit_bias))

    @property
    def greedy(self) -> bool:
        """True when the most likely token is always taken."""
        return self.temperature == 0 or self.top_k == 1

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sampling:
        """Settings from JSON; an unknown key raises `InvalidRequest`."""
        known_keys(data, {f.name for f in fields(cls)}, "sampling")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON-ready data; `from_dict` gives them back."""
        return {
            **asdict(self),
            "stop": list(self.stop),
            "logit_bias": {str(k): v for k, v in self.logit_bias.items()},
        }


def _stop_strings(stop: object) -> tuple[str, ...]:
    values = (stop,) if isinstance(stop, str) else stop
    if not isinstance(values, Iterable) or isinstance(values, (bytes, Mapping)):
        raise bad("stop", stop, "a string or a list of strings")
    found = tuple(values)
    if len(found) > MAX_STOP or not all(isinstance(s, str) and 0 < len(s) <= 1000 for s in found):
        raise bad("stop", stop, f"at most {MAX_STOP} strings of 1 to 1000 characters")
    try:
        "".join(found).encode()
    except UnicodeEncodeError:
        raise bad("stop", stop, "text without halves of surrogate pairs") from None
    return found


def _logit_bias(bias: object) -> dict[int, float]:
    if not isinstance(bias, Mapping):
        raise bad("logit_bias", bias, "a mapping of token id to a number")
    try:
        found = {_token_id(token): float(value) for token, value in bias.items()}
    except (TypeError, ValueError, OverflowError):
        raise bad("logit_bias", bias, "a mapping of token id to a number") from None
    if any(token < 0 or not _can_be_added(value) for token, value in found.items()):
        raise bad(
            "logit_bias", bias, f"token ids from 0 up, numbers from -{MAX_BIAS:g} to {MAX_BIAS:g} or -inf"
        )
    return found


def _token_id(given: object) -> int:
    """An id, or one as JSON writes keys: text."""
    if isinstance(given, bool) or not isinstance(given, (int, str)):
        raise TypeError
    return int(given)


def _can_be_added(bias: float) -> bool:
    """-inf bans a token; NaN compares as false."""
    return bias == -math.inf or -MAX_BIAS <= bias <= MAX_BIAS
