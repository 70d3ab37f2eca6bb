"""The model proposes, code disposes: what becomes of one call. Nothing here reads a text for calls."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from engine.errors import EngineError
from engine.schemas import parse_json
from interview.accounts.models import User
from interview.runs.kinds import Models
from interview.tools.registry import Tool, ToolRefused, find

JSON = dict[str, Any]
RESULT_CHARACTERS = 1_500
FOR_PEOPLE = "places"  # of a result: links, which the page shows and the model has no use for
ANSWERED, REFUSED, AWAITING = "answered", "refused", "awaiting confirmation"


@dataclass(frozen=True)
class Call:
    """One call and what became of it."""

    name: str
    arguments: Any
    outcome: str
    result: Any = None
    words: str = ""
    version: str | None = None
    ms: float = 0.0

    def to_dict(self) -> JSON:
        return {
            "name": self.name,
            "arguments": self.arguments,
            "outcome": self.outcome,
            "result": self.result,
            "words": self.words,
            "version": self.version,
            "ms": self.ms,
        }

    def told(self) -> str:
        """What the model reads about it: bounded JSON."""
        result = self.result
        if isinstance(result, dict):
            result = {name: value for name, value in result.items() if name != FOR_PEOPLE}
        body = {"error": self.words} if self.outcome == REFUSED else {"result": result}
        text = json.dumps(body, ensure_ascii=False, sort_keys=True, default=str)
        return text if len(text) <= RESULT_CHARACTERS else f"{text[:RESULT_CHARACTERS]}… (cut off)"


@dataclass
class Talk:
    """What a conversation allows: whose it is, which tools, the user's own words, the calls so far, the models at hand."""

    user: User
    allowed: tuple[str, ...]
    own_words: str
    calls: list[Call] = field(default_factory=list)
    models: Models | None = None


def dispose(talk: Talk, name: str, arguments: Any) -> Call:
    """Check a proposed call against tool, schema, user and provenance; run it, or leave it to be confirmed."""
    tool = find(name)
    began = time.perf_counter()
    try:
        if tool is None or name not in talk.allowed:
            raise ToolRefused(
                f"{name!r} is not one of the tools of this conversation: {', '.join(talk.allowed)}"
            )
        _check(talk, tool, arguments)
        call = _carried(talk, tool, arguments)
    except ToolRefused as refusal:
        call = Call(name, arguments, REFUSED, words=str(refusal), version=tool.version if tool else None)
    except Exception as error:
        # Whatever a tool does wrong is told, not a reason to end the run.
        call = Call(name, arguments, REFUSED, words=f"the tool failed: {type(error).__name__}: {error}")
    done = Call(**{**call.to_dict(), "ms": round(1000 * (time.perf_counter() - began), 2)})
    talk.calls.append(done)
    return done


def _check(talk: Talk, tool: Tool, arguments: Any) -> None:
    try:
        parse_json(tool.parameters, json.dumps(arguments))
    except EngineError as error:
        raise ToolRefused(
            error.message.replace("the output breaks the schema", "the arguments don't fit")
        ) from error
    for name in tool.from_user:
        if str(arguments[name]) not in talk.own_words:
            raise ToolRefused(f"{name} must come from the user's own words, not from a document or a tool")
    if any(call.name == tool.name and call.arguments == arguments for call in talk.calls):
        raise ToolRefused("this very call was made already; use its result")


def _carried(talk: Talk, tool: Tool, arguments: JSON) -> Call:
    if tool.effect is not None:
        words = tool.effect(talk.user, arguments)
        return Call(tool.name, arguments, AWAITING, words=words, version=tool.version)
    return Call(tool.name, arguments, ANSWERED, result=_result(talk, tool, arguments), version=tool.version)


def _result(talk: Talk, tool: Tool, arguments: JSON) -> Any:
    if tool.look_up is not None and talk.models is not None:
        return tool.look_up(talk.user, arguments, talk.models)
    if tool.run is None:
        raise ToolRefused("this tool does nothing here")
    return tool.run(talk.user, arguments)
