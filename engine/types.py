"""What goes in and out of the engine: sampling settings, requests, events, results. Imports no torch."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from engine.errors import EngineClosed, EngineError, InvalidRequest, ModelError, PromptTooLong
from engine.plain_text import checked_text

__all__ = [
    "EngineClosed",
    "EngineError",
    "Event",
    "FinishEvent",
    "FinishReason",
    "InvalidRequest",
    "Message",
    "ModelError",
    "Passage",
    "PromptTooLong",
    "Request",
    "Result",
    "Sampling",
    "StartEvent",
    "TokenEvent",
]

FinishReason = Literal["stop", "length", "stop_string", "cancelled", "error"]
ORDERS = ("temperature_first", "temperature_last")
ROLES = ("system", "user", "assistant", "tool")
MAX_SEED = 2**63 - 1
MAX_STOP = 16
# Beyond these, fp32 logits of a real model become infinite or NaN, and what is drawn means nothing.
COLDEST = 1e-4
WEAKEST_PENALTY = 0.01
MAX_BIAS = 1e4


def _bad(name: str, value: object, allowed: str) -> InvalidRequest:
    return InvalidRequest("invalid_sampling", f"{name} is {value!r}; allowed: {allowed}", name)


def _real(name: str, value: object, low: float, high: float, allowed: str, *, open_low: bool = False) -> None:
    ok = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Compared, not converted: an integer of 400 digits has no float, and NaN is in no range.
    if not ok or not low <= value <= high or (open_low and value == low):  # type: ignore[operator]  # ok narrows
        raise _bad(name, value, allowed)


def _whole(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _bad(name, value, f"a whole number from {low} to {high}")


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
            _real("temperature", self.temperature, COLDEST, 100, f"0 (greedy), or {COLDEST:g} to 100")
        _whole("top_k", self.top_k, 0, 10_000_000)
        _real("top_p", self.top_p, 0, 1, "above 0, at most 1 (1 is off)", open_low=True)
        _real("min_p", self.min_p, 0, 1, "0 (off) to 1")
        _real("typical_p", self.typical_p, 0, 1, "above 0, at most 1 (1 is off)", open_low=True)
        penalty, allowed = self.repetition_penalty, f"{WEAKEST_PENALTY:g} to 100, 1 is off"
        _real("repetition_penalty", penalty, WEAKEST_PENALTY, 100, allowed)
        _real("frequency_penalty", self.frequency_penalty, -100, 100, "-100 to 100, 0 is off")
        _real("presence_penalty", self.presence_penalty, -100, 100, "-100 to 100, 0 is off")
        _whole("no_repeat_ngram", self.no_repeat_ngram, 0, 1000)
        _whole("max_tokens", self.max_tokens, 1, 10_000_000)
        _whole("logprobs", self.logprobs, 0, 100)
        if self.seed is not None:
            _whole("seed", self.seed, 0, MAX_SEED)
        if self.order not in ORDERS:
            raise _bad("order", self.order, " or ".join(ORDERS))
        object.__setattr__(self, "stop", _stop_strings(self.stop))
        object.__setattr__(self, "logit_bias", _logit_bias(self.logit_bias))

    @property
    def greedy(self) -> bool:
        """True when the most likely token is always taken."""
        return self.temperature == 0 or self.top_k == 1

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sampling:
        """Settings from JSON; an unknown key raises `InvalidRequest`."""
        _check_mapping(data, {f.name for f in fields(cls)}, "sampling")
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
        raise _bad("stop", stop, "a string or a list of strings")
    found = tuple(values)
    if len(found) > MAX_STOP or not all(isinstance(s, str) and 0 < len(s) <= 1000 for s in found):
        raise _bad("stop", stop, f"at most {MAX_STOP} strings of 1 to 1000 characters")
    return found


def _logit_bias(bias: object) -> dict[int, float]:
    if not isinstance(bias, Mapping):
        raise _bad("logit_bias", bias, "a mapping of token id to a number")
    try:
        found = {int(token): float(value) for token, value in bias.items()}
    except (TypeError, ValueError, OverflowError):
        raise _bad("logit_bias", bias, "a mapping of token id to a number") from None
    if any(token < 0 or not _can_be_added(value) for token, value in found.items()):
        raise _bad(
            "logit_bias", bias, f"token ids from 0 up, numbers from -{MAX_BIAS:g} to {MAX_BIAS:g} or -inf"
        )
    return found


def _can_be_added(bias: float) -> bool:
    """-inf bans a token; NaN compares as false."""
    return bias == -math.inf or -MAX_BIAS <= bias <= MAX_BIAS


def _check_mapping(data: object, allowed: set[str], what: str) -> None:
    if not isinstance(data, Mapping):
        raise InvalidRequest(f"invalid_{what}", f"{what} is {type(data).__name__}; give an object", what)
    unknown = sorted(map(str, set(data) - allowed))
    if unknown:
        message = f"unknown {what} key {unknown[0]!r}; allowed: {', '.join(sorted(allowed))}"
        raise InvalidRequest(f"invalid_{what}", message, unknown[0])


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: str
    content: str

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidRequest(
                "invalid_message", f"role is {self.role!r}; allowed: {', '.join(ROLES)}", "role"
            )
        checked_text(self.content, "content", "invalid_message")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that may be quoted verbatim."""

    id: str
    text: str

    def __post_init__(self) -> None:
        checked_text(self.id, "id", "invalid_quotes")
        checked_text(self.text, "text", "invalid_quotes")


def _new_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Request:
    """One generation. Give `messages` (chat template) or `prompt` (raw text), and at most one constraint.

    `quotes` limits the output to substrings of the passages; `speculate` is the longest draft taken from
    prompt and output (0 is off, None lets the engine decide); `allow_special` lets special tokens written in
    the
    text act as such; `adapter` names an attached LoRA adapter; `continue_ids` are token ids that stand after the
    prompt as if the model had written them: the output goes on behind them.
    """

    messages: tuple[Message, ...] | None = None
    prompt: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    schema: Mapping[str, Any] | bool | None = None
    regex: str | None = None
    choices: tuple[str, ...] | None = None
    grammar: str | None = None
    quotes: tuple[Passage, ...] | None = None
    tools: tuple[Mapping[str, Any], ...] | None = None
    speculate: int | None = None
    allow_special: bool = False
    adapter: str | None = None
    continue_ids: tuple[int, ...] = ()
    id: str = field(default_factory=_new_id)

    def __post_init__(self) -> None:
        for name in ("messages", "choices", "quotes", "tools", "continue_ids"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, (str, bytes, Mapping)):
                object.__setattr__(self, name, tuple(value))
        self._check_input()
        used = [
            n for n in ("schema", "regex", "choices", "grammar", "quotes") if getattr(self, n) is not None
        ]
        if len(used) > 1:
            raise InvalidRequest(
                "invalid_request", f"{' and '.join(used)} were given; give one constraint", used[1]
            )
        self._check_constraint()
        if not isinstance(self.allow_special, bool):
            raise InvalidRequest("invalid_request", "allow_special is true or false", "allow_special")
        if self.speculate is not None:
            _whole("speculate", self.speculate, 0, 64)
        if not isinstance(self.continue_ids, tuple) or not all(_is_id(i) for i in self.continue_ids):
            raise InvalidRequest(
                "invalid_request", "continue_ids must be a list of token ids", "continue_ids"
            )

    def _check_input(self) -> None:
        if (self.messages is None) == (self.prompt is None):
            raise InvalidRequest("invalid_request", "give exactly one of messages and prompt", "messages")
        if self.prompt is not None and not (isinstance(self.prompt, str) and self.prompt):
            raise InvalidRequest("empty_prompt", "prompt is empty; give at least one character", "prompt")
        if self.prompt is not None:
            checked_text(self.prompt, "prompt")
        if self.messages is not None and not (
            self.messages and all(isinstance(m, Message) for m in self.messages)
        ):
            raise InvalidRequest(
                "empty_prompt", "messages must be a non-empty list of role and content", "messages"
            )

    def _check_constraint(self) -> None:
        for name in ("regex", "grammar", "adapter"):
            if getattr(self, name) is not None:
                checked_text(getattr(self, name), name)
        if self.choices is not None:
            if not (self.choices and all(isinstance(c, str) and c for c in self.choices)):
                raise InvalidRequest(
                    "invalid_request", "choices must be a list of non-empty strings", "choices"
                )
            checked_text("".join(self.choices), "choices")
        if self.quotes is not None and not _all_are(Passage, self.quotes):
            raise InvalidRequest("invalid_quotes", "quotes must be a list of id and text", "quotes")
        if self.tools is not None:
            _check_tools(self.tools)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Request:
        """A request from the JSON of the command line; a top-level `seed` is the sampling seed."""
        _check_mapping(data, {f.name for f in fields(cls)} | {"seed"}, "request")
        given = dict(data)
        sampling = given.pop("sampling", None) or {}
        _check_mapping(sampling, {f.name for f in fields(Sampling)}, "sampling")
        sampling = dict(sampling)
        if (seed := given.pop("seed", None)) is not None:
            sampling["seed"] = seed
        for name, kind in (("messages", Message), ("quotes", Passage)):
            if given.get(name) is not None:
                given[name] = tuple(_item(kind, item, name) for item in _list(given[name], name))
        for name in ("choices", "tools", "continue_ids"):
            if given.get(name) is not None:
                given[name] = tuple(_list(given[name], name))
        for name in ("id", "allow_special"):
            if given.get(name) is None:
                given.pop(name, None)
        return cls(sampling=Sampling.from_dict(sampling), **given)


def _all_are(kind: type, values: object) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, kind) for value in values)


def _check_tools(tools: object) -> None:
    """Refuses what no template can show: tools that are no objects, no JSON or hold half of a surrogate pair."""
    if not _all_are(Mapping, tools):
        raise InvalidRequest("invalid_tools", "tools must be a list of objects", "tools")
    try:
        json.dumps([dict(t) for t in tools], ensure_ascii=False).encode()  # type: ignore[attr-defined]  # a tuple
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest("invalid_tools", f"tools are not JSON: {error}", "tools") from None


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise InvalidRequest("invalid_request", f"{name} is {type(value).__name__}; give a list", name)
    return list(value)


def _item(kind: Any, data: object, name: str) -> Any:
    _check_mapping(data, {f.name for f in fields(kind)}, "message" if kind is Message else "quote")
    try:
        return kind(**data)  # type: ignore[arg-type]  # checked to be a mapping above
    except TypeError:
        needed = " and ".join(f.name for f in fields(kind))
        raise InvalidRequest("invalid_request", f"each item of {name} needs {needed}", name) from None


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
