"""The body of POST /v1/chat/completions, checked field by field; what this server can't do is refused by name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from interview.openai_api.errors import Refused

MAX_MESSAGES = 512
MAX_CHOICES = 8


class Part(BaseModel):
    """A base for every object of a request: unknown keys are refused, numbers are finite, types are exact."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class TextPart(Part):
    """A piece of a message's content."""

    type: Literal["text"]
    text: str


class CalledFunction(Part):
    """Name and arguments (as JSON text) of a call the model made earlier."""

    name: str
    arguments: str


class ToolCall(Part):
    """A call the model made earlier."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


class ChatMessage(Part):
    """One turn."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    refusal: str | None = None
    # An earlier answer handed back as it came from another server holds these, empty.
    annotations: Annotated[list[Any], Field(max_length=0)] | None = None
    audio: None = None
    function_call: None = None


class Function(Part):
    """A function the model may ask for."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(Part):
    """A tool: functions only."""

    type: Literal["function"]
    function: Function


class ChosenName(Part):
    """The function that has to be called."""

    name: str


class ChosenTool(Part):
    """A tool choice that names a function."""

    type: Literal["function"]
    function: ChosenName


class NamedSchema(Part):
    """The schema of a json_schema response format."""

    name: Annotated[str, Field(max_length=64)]
    description: str | None = None
    schema_: Annotated[dict[str, Any] | bool, Field(alias="schema")] = True
    strict: bool | None = None


class ResponseFormat(Part):
    """What the text has to be."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None


class StreamOptions(Part):
    """How a stream is sent."""

    include_usage: bool = False
    include_obfuscation: bool | None = None


class ChatBody(Part):
    """A chat completion request. `top_k`, `min_p` and `repetition_penalty` go beyond OpenAI's own."""

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    logit_bias: dict[str, Annotated[float, Field(ge=-100, le=100)]] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    response_format: ResponseFormat | None = None
    tools: Annotated[list[Tool], Field(max_length=32)] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | None = None
    parallel_tool_calls: bool | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Field(gt=0, le=100)] | None = None
    # Taken and without effect here: they say who asks or how somebody else's service should bill or store it.
    user: str | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None


def parse_body(raw: bytes) -> ChatBody:
    """The body, or Refused with the parameter's path and what is allowed."""
    try:
        return ChatBody.model_validate_json(raw)
    except ValidationError as error:
        raise _refusal(error) from error


def _refusal(error: ValidationError) -> Refused:
    fault = _telling(error.errors(include_url=False, include_input=False))
    param = _path(fault["loc"])
    if fault["type"] == "json_invalid":
        return Refused(400, "invalid_json", f"The body is not JSON: {fault['msg']}.")
    if fault["type"] == "extra_forbidden":
        return Refused(
            400,
            "unknown_parameter",
            f"{param} is not a parameter that this server knows or can honour.",
            param,
        )
    return Refused(400, "invalid_value", f"{param or 'The body'}: {fault['msg']}.", param)


def _telling(faults: list[ErrorDetails]) -> ErrorDetails:
    """The first fault; of a value's alternatives the one it came nearest to: a list of five is no failed string."""
    first = _path(faults[0]["loc"]) or ""
    same = [fault for fault in faults if (_path(fault["loc"]) or "").startswith(first)]
    return next((fault for fault in same if not fault["type"].endswith("_type")), faults[0])


def _path(loc: tuple[int | str, ...]) -> str | None:
    """`messages[0].content`, without the names pydantic gives to the alternatives of a union."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() and part not in {"str", "constrained", "ChosenTool"}:
            path += f".{part}" if path else part
    return path or None
