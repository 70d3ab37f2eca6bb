"""`$ref` in schemas: what can never end is refused before it is queued, and tools bring their own definitions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.errors import InvalidRequest
from engine.llm import Engine
from engine.references import moved
from engine.schemas import check_enforceable, check_schema
from engine.tools import call_schema
from engine.types import Request, Sampling
from tests.engine.tiny import oracle, tiny_engine

ITSELF = {"$ref": "#"}


def holding(part: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": part}, "required": ["a"], **more}


@pytest.mark.parametrize(
    "schema",
    [
        ITSELF,
        {"allOf": [ITSELF]},
        {"allOf": [{"type": "string"}, ITSELF]},
        {"anyOf": [ITSELF]},
        {"anyOf": [ITSELF, {"oneOf": [ITSELF]}]},
        holding(ITSELF),
        holding({"anyOf": [ITSELF, {"allOf": [ITSELF]}]}),
        holding({"$ref": "#/$defs/x"}, **{"$defs": {"x": holding(ITSELF)}}),
        holding({"$ref": "#/$defs/a%20b"}, **{"$defs": {"a b": holding({"$ref": "#/$defs/a%20b"})}}),
        {"type": "object", "required": ["x"], "additionalProperties": ITSELF},
        {"type": "array", "items": ITSELF, "minItems": 1},
        {"type": "array", "prefixItems": [{}, ITSELF], "minItems": 2},
        # Some text satisfies these, but no check of it would come to an end.
        {"anyOf": [ITSELF, {"type": "string"}]},
        {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"allOf": [ITSELF]}}},
        {"$anchor": "top", "oneOf": [{"type": "integer"}, {"$ref": "#top"}]},
        {"properties": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/properties/a"}]}}},
    ],
)
def test_what_can_never_end_is_refused_by_name(schema: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"\$ref '#.*' refers to itself without end") as caught:
        check_schema(schema)
    assert (caught.value.code, caught.value.field) == ("invalid_schema", "schema")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": ITSELF}, "additionalProperties": False},
        {"anyOf": [{"type": "null"}, holding(ITSELF)]},
        {"$anchor": "top", "anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#top"}}]},
        # Data, not references.
        {"const": {"$ref": "https://example.org/s.json"}},
        {"type": "string", "default": {"$ref": "#"}},
        holding({"anyOf": [ITSELF, {"type": "null"}]}),
        {"type": "array", "items": ITSELF},
        {"type": "array", "prefixItems": [{"type": "string"}], "items": ITSELF, "minItems": 1},
        # No `type`: a text satisfies it.
        {"properties": {"a": ITSELF}, "required": ["a"]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "object"}}},
    ],
)
def test_recursion_that_can_end_is_taken(schema: Any) -> None:
    check_enforceable(schema)


def test_a_long_chain_is_followed_in_little_time() -> None:
    n = 2000
    steps = {str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(n)}
    began = time.process_time()
    check_schema({"$ref": "#/$defs/0", "$defs": {**steps, str(n): {"type": "null"}}})
    with pytest.raises(InvalidRequest, match="without end"):
        check_schema({"$ref": "#/$defs/0", "$defs": {**steps, str(n): {"$ref": "#/$defs/0"}}})
    assert time.process_time() - began < 5


def test_pointers_move_with_their_schema_and_data_stays() -> None:
    ref = {"$ref": "#/$defs/P"}
    schema = {
        "properties": {"a": ref, "self": ITSELF, "default": ref, "b": {"const": ref}},
        "$defs": {"P": {"$anchor": "p"}, "q": {"$ref": "#p"}, "own": {"$id": "urn:x", "items": ref}},
    }
    there = {"$ref": "#/x/$defs/P"}
    assert moved(schema, "#/x") == {
        "properties": {"a": there, "self": {"$ref": "#/x"}, "default": there, "b": {"const": ref}},
        "$defs": {"P": {"$anchor": "p"}, "q": {"$ref": "#p"}, "own": {"$id": "urn:x", "items": ref}},
    }


def tool(name: str, kind: str) -> dict[str, Any]:
    parameters = {
        **holding({"$ref": "#/$defs/P"}, additionalProperties=False),
        "$defs": {"P": {"enum": [kind]}},
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@pytest.fixture(scope="module")
def tiny() -> Iterator[Engine]:
    with tiny_engine(oracle(seed=5)) as engine:
        yield engine


def test_tools_with_definitions_of_the_same_name_keep_their_own(tiny: Engine) -> None:
    tools = (tool("one", "x"), tool("two", "y"))
    check_enforceable(call_schema(tools))
    # "n" over "a" makes it a call instead of an answer, "t" over "o" the second tool.
    sampling = Sampling(max_tokens=64, logit_bias={ord("n"): 90.0, ord("t"): 100.0})
    result = tiny.generate(Request(prompt="hi", tools=tools, sampling=sampling))
    assert result.parsed == {"name": "two", "arguments": {"a": "y"}}
