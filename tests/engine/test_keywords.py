"""A schema is kept to the letter or refused: nothing in it is passed over, and whatever a mask admits is valid."""

from __future__ import annotations

import random
from typing import Any

import llguidance
import numpy as np
import pytest

from engine.errors import InvalidRequest
from engine.schemas import check_enforceable, limits, parse_json, schema_grammar

DRAFT = {n: f"http://json-schema.org/draft-0{n}/schema#" for n in (3, 4, 6, 7)}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string", "minLenght": 3}, "minLenght is no keyword .* write minLength"),
        ({"type": "string", "MinLength": 3}, "MinLength is no keyword .* write minLength"),
        ({"properties": {"a": {"tpye": "string"}}}, "tpye is no keyword .* write type"),
        ({"type": "object", "propertys": {"a": {}}}, "propertys is no keyword .* write properties"),
        ({"type": "array", "min_items": 2}, "min_items is no keyword .* write minItems"),
        ({"anyof": [{"type": "string"}]}, "anyof is no keyword .* write anyOf"),
        ({"require": ["a"]}, "require is no keyword .* write required"),
        ({"$defs": {"a": {"enmu": [1]}}}, "enmu is no keyword .* write enum"),
        ({"$schema": DRAFT[3], "type": "integer", "divisibleBy": 3}, "divisibleBy is no .*-03 .* write multipleOf"),
        ({"prefixItems": [{"type": "integer"}], "additionalItems": False}, "additionalItems is no .* 2020-12"),
        ({"$schema": DRAFT[7], "type": "array", "prefixItems": [{}]}, "prefixItems is no keyword .* draft-07"),
        ({"$schema": "https://example.org/own", "type": "integer"}, r"\$schema is 'https://example.org/own'"),
        ({"$schema": 5}, r"\$schema is 5"),
        ({"minimum": float("nan")}, "not JSON"),
        ({"maximum": float("inf")}, "not JSON"),
        ({"x-guidance": {"lenient": True}, "uniqueItems": True}, "uniqueItems can't be expressed"),
        ({"x-guidance": {"coerce_one_of": True}, "oneOf": [{"type": "number"}, {"type": "integer"}]}, "oneOf can't"),
        ({"$dynamicRef": "#a"}, r"\$dynamicRef can't be expressed"),
        ({"$ref": "#nowhere"}, "nowhere"),
    ],
)  # fmt: skip
def test_what_would_be_passed_over_is_named(schema: Any, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said) as caught:
        check_enforceable(schema)
    assert caught.value.code in ("unsupported_schema", "invalid_schema")


REMARKED = {
    "title": "t", "$comment": "c", "tsType": "X", "enumNames": ["a"], "x-order": 1, "_format": "own", "cost": 2,
    "properties": {"propertys": {"type": "string"}, "tpye": {"const": {"minLenght": 1}}},
}  # fmt: skip


def test_remarks_of_the_author_s_own_and_names_stay_free() -> None:
    check_enforceable(REMARKED)
    check_enforceable({"$schema": DRAFT[7], "definitions": {"tpye": {}}, "type": "null"})


def written(schema: Any, draw: random.Random) -> str | None:
    """A text that a grammar's mask admits byte by byte, drawn at random; None when it grows long."""
    backend = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(backend, schema_grammar(schema), log_level=0, limits=limits())
    text = bytearray()
    while len(text) < 200:
        flags = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8), bitorder="little")
        free = [int(i) for i in np.flatnonzero(flags[:128]) if i >= 32]
        if matcher.is_stopped() or (matcher.is_accepting() and (not free or draw.random() < 0.4)):
            return text.decode()
        closing = [i for i in free if i in b'"]},:']
        text.append(draw.choice(closing if closing and draw.random() < 0.5 else free))
        matcher.consume_token(text[-1])
    return None


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": DRAFT[4], "type": "integer", "minimum": 3, "exclusiveMinimum": True},
        {"$schema": DRAFT[7], "items": [{"type": "integer"}], "type": "array", "additionalItems": False},
        {"definitions": {"a": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/definitions/a"}},
        {"$defs": {"a": {"$anchor": "n", "type": "integer"}}, "$ref": "#n", "minimum": 40},
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}], "items": False},
        {"type": "object", "patternProperties": {"^x[a-z]{8}": {"type": "integer"}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"const": 1.0}}, "additionalProperties": {"enum": ["b", None]}},
        {"enum": [1, 5, 9, "a"], "minimum": 4},
        {"allOf": [{"enum": ["ab", "b", "cb"]}, {"pattern": "b$", "minLength": 2}]},
        {"allOf": [{"type": ["integer", "string"]}, {"type": ["integer", "null"], "multipleOf": 7}]},
        {"type": "integer", "minimum": -3, "exclusiveMaximum": 12, "multipleOf": 1.5},
        {"type": "number", "exclusiveMinimum": -1.5, "maximum": 2.25, "multipleOf": 0.25},
        {"oneOf": [{"const": "a"}, {"type": "integer", "maximum": 3}]},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 3},
        {"type": ["string", "null"], "minLength": 2, "maxLength": 3},
        {"type": "object", "properties": {"a": False}, "additionalProperties": {"type": "null"}},
    ],
)  # fmt: skip
def test_what_a_mask_admits_is_valid(schema: Any) -> None:
    check_enforceable(schema)
    draw = random.Random(4)
    texts = [text for _ in range(25) if (text := written(schema, draw)) is not None]
    assert len(texts) > 5
    for text in texts:
        parse_json(schema, text)
