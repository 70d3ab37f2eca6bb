"""Tool calls: declared tools are shown to the model, a grammar admits only a declared name with fitting
arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.errors import InvalidRequest
from engine.references import moved
from engine.types import Message, Request, Result

if TYPE_CHECKING:
    from engine.llm import Engine

Tool = Mapping[str, Any]
MAX_ROUNDS = 4
MAX_TOOLS = 32
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def declaration(tool: Tool) -> dict[str, Any]:
    """{"name", "description", "parameters"} of a tool in OpenAI's shape or bare; raises `InvalidRequest`."""
    found = tool.get("function", tool) if isinstance(tool, Mapping) else None
    name = found.get("name") if isinstance(found, Mapping) else None
    if not (isinstance(found, Mapping) and isinstance(name, str) and NAME.fullmatch(name)):
        raise InvalidRequest(
            "invalid_tools", "each tool needs a name: letters, digits, underscores, hyphens", "tools"
        )
    parameters = found.get("parameters") or {"type": "object", "properties": {}}
    return {"name": name, "description": str(found.get("description") or ""), "parameters": parameters}


def declarations(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Every tool's declaration; names are unique."""
    found = [declaration(tool) for tool in tools]
    names = [d["name"] for d in found]
    if len(set(names)) != len(names) or len(names) > MAX_TOOLS:
        raise InvalidRequest("invalid_tools", f"give at most {MAX_TOOLS} tools with different names", "tools")
    return found


def call_schema(tools: Sequence[Tool]) -> dict[str, Any]:
    """The JSON schema of one step: a call of a declared tool, or {"answer": text}."""
    options = [
        # A tool's pointers (`#/$defs/…`) are written for its parameters alone.
        _object(
            name={"const": d["name"]},
            arguments=moved(d["parameters"], f"#/anyOf/{i}/properties/arguments"),
        )
        for i, d in enumerate(declarations(tools))
    ]
    return {"anyOf": [*options, _object(answer={"type": "string", "minLength": 1})]}


def _object(**properties: Any) -> dict[str, Any]:
    names = list(properties)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def instructions(tools: Sequence[Tool]) -> str:
    """What a model whose template knows no tools is told about them."""
    listed = "\n".join(json.dumps(d, ensure_ascii=False) for d in declarations(tools))
    return (
        "You can call these tools:\n"
        f"{listed}\n"
        'To call one, write {"name": its name, "arguments": its arguments}. '
        'When you know the answer, write {"answer": "the answer"}.'
    )


def with_instructions(request: Request) -> Request:
    """The request with the tools told in a system message."""
    if not request.tools or request.messages is None:
        return request
    told = instructions(request.tools)
    first, *rest = request.messages
    if first.role == "system":
        return replace(request, messages=(Message("system", f"{first.content}\n\n{told}"), *rest))
    return replace(request, messages=(Message("system", told), *request.messages))


def run_tools(
    engine: Engine,
    request: Request,
    functions: Mapping[str, Callable[..., Any]],
    max_rounds: int = MAX_ROUNDS,
) -> tuple[Result, list[Message]]:
    """Generates, calls what the model asks for, appends results as tool messages; ends at an answer or the
    cap.

    Returns the last result and the messages of every round. A tool that raises is told to the model as an
    error.
    """
    if request.messages is None or not request.tools:
        raise InvalidRequest("invalid_tools", "give messages and tools", "tools")
    added: list[Message] = []
    for _ in range(max_rounds):
        step = replace(request, messages=(*request.messages, *added), id=f"{request.id}-{len(added)}")
        result = engine.generate(step)
        added.append(Message("assistant", result.text))
        if not (isinstance(result.parsed, dict) and "name" in result.parsed):
            return result, added
        added.append(Message("tool", _outcome(functions, result.parsed)))
    return result, added


def _outcome(functions: Mapping[str, Callable[..., Any]], call: Mapping[str, Any]) -> str:
    try:
        value = functions[call["name"]](**call["arguments"])
    except Exception as error:
        # Whatever a tool does wrong is the model's to read, not a reason to end the run.
        return json.dumps({"error": f"{type(error).__name__}: {error}"})
    return json.dumps({"result": value}, ensure_ascii=False, default=str)
