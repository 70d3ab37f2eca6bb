"""A chat request in OpenAI's words becomes a run's input in the engine's."""

from __future__ import annotations

import json
from typing import Any

from engine import EngineError, Request
from engine.schemas import check_constraint
from engine.tools import call_schema, declarations
from interview.openai_api.bodies import ChatBody, ChatMessage, ChosenTool
from interview.openai_api.errors import Refused
from interview.runs.fits import check_fits

JSON = dict[str, Any]
DEFAULT_MAX_TOKENS = 512
PARAMS = {"messages": "messages", "schema": "response_format", "tools": "tools", "logit_bias": "logit_bias"}
# The engine's codes that have a name of their own in OpenAI's words.
CODES = {"prompt_too_long": "context_length_exceeded"}
# The beginnings of codes that say the request is wrong, not the server.
CALLERS = ("invalid_", "unsupported_", "empty_")


def run_input(body: ChatBody) -> JSON:
    """{"messages", "sampling", "n", …}: what the run `chat` stores. Raises Refused."""
    if body.stream_options is not None and not body.stream:
        raise Refused(400, "invalid_value", "stream_options needs stream: true.", "stream_options")
    made: JSON = {"messages": [_message(m, i) for i, m in enumerate(body.messages)]}
    made["sampling"] = _sampling(body)
    made["n"] = body.n or 1
    made |= _constraint(body)
    try:
        request = Request.from_dict({key: value for key, value in made.items() if key != "n"})
        check_constraint(request)
        check_fits(request)
    except EngineError as error:
        raise refused(error.code, error.message, getattr(error, "field", None)) from error
    return made


def refused(code: str, message: str, field: str | None) -> Refused:
    """400 for what the engine says about a request, in OpenAI's names."""
    return Refused(400, CODES.get(code, code), message, PARAMS.get(field or "", field or None))


def _message(message: ChatMessage, index: int) -> JSON:
    content = message.content
    text = "".join(part.text for part in content) if isinstance(content, list) else content or ""
    if message.tool_calls:
        if message.role != "assistant":
            raise Refused(
                400, "invalid_value", "Only an assistant calls tools.", f"messages[{index}].tool_calls"
            )
        calls = [_call_text(call.function.name, call.function.arguments) for call in message.tool_calls]
        text = "\n".join([*([text] if text else []), *calls])
    elif content is None and message.role != "assistant":
        raise Refused(
            400, "invalid_value", f"A {message.role} message needs content.", f"messages[{index}].content"
        )
    return {"role": "system" if message.role == "developer" else message.role, "content": text}


def _call_text(name: str, arguments: str) -> str:
    """An earlier call as the model wrote it: the same shape as its grammar admits."""
    try:
        value = json.loads(arguments)
    except ValueError:
        value = arguments
    return json.dumps({"name": name, "arguments": value}, ensure_ascii=False)


def _sampling(body: ChatBody) -> JSON:
    if body.top_logprobs is not None and not body.logprobs:
        raise Refused(400, "invalid_value", "top_logprobs needs logprobs: true.", "top_logprobs")
    stop = [body.stop] if isinstance(body.stop, str) else body.stop or []
    sampling: JSON = {
        "temperature": 1.0 if body.temperature is None else body.temperature,
        # 0 asks for the likeliest token alone, which is what a vanishing nucleus leaves.
        "top_p": 1.0 if body.top_p is None else max(body.top_p, 1e-9),
        "max_tokens": body.max_completion_tokens or body.max_tokens or DEFAULT_MAX_TOKENS,
        "stop": [text for text in stop if text],
        "logprobs": max(1, body.top_logprobs or 0) if body.logprobs else 0,
    }
    for name in ("frequency_penalty", "presence_penalty", "top_k", "min_p", "repetition_penalty"):
        value = getattr(body, name)
        if value is not None:
            sampling[name] = value
    if body.logit_bias:
        sampling["logit_bias"] = body.logit_bias
    if body.seed is not None:
        sampling["seed"] = body.seed % 2**63
    return sampling


def _constraint(body: ChatBody) -> JSON:
    schema = _response_schema(body)
    if not body.tools or body.tool_choice == "none":
        if body.tool_choice not in (None, "none", "auto"):
            raise Refused(400, "invalid_value", "tool_choice needs tools.", "tool_choice")
        return {} if schema is None else {"schema": schema}
    if schema is not None:
        raise Refused(
            400, "invalid_value", "Give tools or a JSON response_format, not both.", "response_format"
        )
    tools = [tool.model_dump(exclude_none=True) for tool in body.tools]
    made: JSON = {"tools": tools}
    if isinstance(body.tool_choice, ChosenTool) or body.tool_choice == "required":
        made["schema"] = _calls_only(tools, body.tool_choice)
    return made


def _response_schema(body: ChatBody) -> JSON | bool | None:
    wanted = body.response_format
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return {"type": "object"}
    if wanted.json_schema is None:
        raise Refused(
            400, "invalid_value", "A json_schema format needs its json_schema.", "response_format.json_schema"
        )
    return wanted.json_schema.schema_


def _calls_only(tools: list[JSON], choice: ChosenTool | str) -> JSON:
    """The schema of a call that has to be made: of any tool, or of the one that is named."""
    if isinstance(choice, ChosenTool):
        name = choice.function.name
        tools = [tool for tool in tools if tool["function"]["name"] == name]
        if not tools:
            raise Refused(
                400, "invalid_value", f"tool_choice names {name!r}, which is no tool.", "tool_choice"
            )
    try:
        named = {found["name"] for found in declarations(tools)}
    except EngineError as error:
        raise Refused(400, error.code, error.message, "tools") from error
    options = call_schema(tools)["anyOf"]
    return {
        "anyOf": [option for option in options if option["properties"].get("name", {}).get("const") in named]
    }
