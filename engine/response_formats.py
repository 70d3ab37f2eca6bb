"""How a schema goes out: OpenAI's `json_schema`, or `json_object` with the schema beside it, as llama-cpp-python has it.

No server says which of them it takes, so each is asked in turn, and what it took is asked first from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import openai

Shape = Literal["json_schema", "json_object"]
# What a value of each type begins with.
BEGINNINGS = {
    "object": "{", "array": "[", "string": '"', "boolean": "tf", "null": "n", "integer": "-0123456789",
    "number": "-0123456789",
}  # fmt: skip
# Answers that are about who asks or how often, whatever words stand in them.
NOT_ABOUT_THE_BODY = (401, 403, 408, 409, 429)


class Shapes:
    """What is known of one server."""

    def __init__(self) -> None:
        self.first: Shape = "json_schema"

    def order(self) -> tuple[Shape, Shape]:
        """Which shape to send first and which then."""
        return self.first, _other(self.first)

    def works(self, shape: Shape) -> None:
        """This one was taken and held."""
        self.first = shape

    def fails(self, shape: Shape) -> None:
        """This one was taken and not held: the next request tries the other."""
        self.first = _other(shape)


def _other(shape: Shape) -> Shape:
    return "json_object" if shape == "json_schema" else "json_schema"


def response_format(shape: Shape, schema: Any) -> dict[str, Any]:
    """The request's `response_format`."""
    if shape == "json_object":
        return {"type": "json_object", "schema": schema}
    return {"type": "json_schema", "json_schema": {"name": "output", "schema": schema, "strict": True}}


def refuses_it(fault: openai.APIStatusError) -> bool:
    """Whether a server refused the request for its `response_format`; llama-cpp-python does so with status 500."""
    told = f"{fault.message} {fault.body}"
    return fault.status_code not in NOT_ABOUT_THE_BODY and (
        "response_format" in told or "json_schema" in told
    )


def ignores_it(text: str, schema: Any) -> bool:
    """Whether a text's beginning already shows that the server writes what it likes; white space shows nothing."""
    begun = text.lstrip()
    named = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = [named] if isinstance(named, str) else named or list(BEGINNINGS)
    return bool(begun) and not any(begun[0] in BEGINNINGS.get(kind, "") for kind in kinds)
