"""What goes in and out of the engine: requests here; settings, events and results beside them. Imports no torch."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from engine.errors import EngineClosed, EngineError, InvalidRequest, ModelError, PromptTooLong
from engine.events import (
    Alternative,
    Event,
    FinishEvent,
    FinishReason,
    Result,
    StartEvent,
    StepSeen,
    TokenEvent,
)
from engine.plain_text import checked_text
from engine.sampling_settings import Sampling
from engine.values import known_keys, shown, whole

__all__ = [
    "Alternative",
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
    "StepSeen",
    "TokenEvent",
]

ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: str
    content: str

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidRequest(
                "invalid_message", f"role is {shown(self.role)}; allowed: {', '.join(ROLES)}", "role"
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
            whole("speculate", self.speculate, 0, 64)
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
        for name in ("regex", "grammar", "adapter", "id"):
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
        known_keys(data, {f.name for f in fields(cls)} | {"seed"}, "request")
        given = dict(data)
        sampling = given.pop("sampling", None)
        sampling = {} if sampling is None else sampling
        known_keys(sampling, {f.name for f in fields(Sampling)}, "sampling")
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
    known_keys(data, {f.name for f in fields(kind)}, "message" if kind is Message else "quote")
    try:
        return kind(**data)  # type: ignore[arg-type]  # checked to be a mapping above
    except TypeError:
        needed = " and ".join(f.name for f in fields(kind))
        raise InvalidRequest("invalid_request", f"each item of {name} needs {needed}", name) from None
