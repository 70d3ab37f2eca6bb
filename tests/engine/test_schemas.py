"""What a schema may ask for, said before any model is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from engine.errors import EngineError, InvalidRequest
from engine.schemas import Unenforceable, check_constraint, check_enforceable, parse_json
from engine.types import Request


@pytest.mark.parametrize(
    ("schema", "keywords"),
    [
        ({"type": "array", "uniqueItems": True}, ("uniqueItems",)),
        ({"properties": {"a": {"not": {"type": "string"}}}}, ("not",)),
        ({"if": {"type": "string"}, "then": {"minLength": 3}}, ("if", "then")),
    ],
)
def test_a_keyword_no_grammar_holds_is_named(schema: Any, keywords: tuple[str, ...]) -> None:
    with pytest.raises(Unenforceable, match=keywords[0]) as caught:
        check_enforceable(schema)
    assert caught.value.keywords == keywords
    assert caught.value.code == "unsupported_schema"


@pytest.mark.parametrize(
    "given",
    [
        {"regex": "("},
        {"regex": "a{9999999}"},
        {"grammar": "x"},
        {"grammar": "start: nope"},
        {"regex": "(a{1000}){1000}"},
        {"grammar": "start: /a{9999999}/"},
        {"schema": {"not": {}}},
        {"schema": {"type": "string", "pattern": "^x{9999999}$"}},
        {"schema": {"patternProperties": {"^x{9999999}$": {}}}},
    ],
)
def test_a_constraint_that_no_grammar_holds_is_refused_without_a_model(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        check_constraint(Request(prompt="a", **given))


@pytest.mark.parametrize("given", [{}, {"regex": "a+"}, {"grammar": 'start: "a" | "b"'}, {"choices": ("a",)}])
def test_a_constraint_that_can_be_held_passes(given: dict[str, Any]) -> None:
    check_constraint(Request(prompt="a", **given))


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": []},
        {"allOf": [{"type": "string"}, {"type": "number"}]},
        {"type": "string", "format": "credit-card"},
    ],
)
def test_what_nothing_can_satisfy_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidRequest, match="can't be enforced"):
        check_enforceable(schema)


def test_a_pattern_is_named_with_what_is_wrong_in_it() -> None:
    with pytest.raises(InvalidRequest, match=r"pattern '\(\?=x\)y': look-around.* is not supported"):
        check_enforceable({"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)y"}}})


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "[" * 100_000, '{"a": "x"}', "", "{"])
def test_a_text_that_breaks_its_schema_is_refused(text: str) -> None:
    with pytest.raises(EngineError):
        parse_json({"type": "object", "properties": {"a": {"type": "integer"}}}, text)


NESTED = {"$ref": "#/$defs/list", "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}}}


@pytest.mark.parametrize(
    ("schema", "text", "why"),
    [
        (NESTED, 300 * "[" + 300 * "]", "RecursionError"),
    ],
)
def test_what_the_validator_can_t_finish_is_no_match(schema: Any, text: str, why: str) -> None:
    with pytest.raises(EngineError, match=f"can't be checked against the schema: {why}") as caught:
        parse_json(schema, text)
    assert caught.value.code == "schema_mismatch"


def test_checking_a_schema_loads_no_torch() -> None:
    code = (
        "import sys; from engine.schemas import check_enforceable; check_enforceable({'type': 'object'});"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stderr


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "pattern": "^(a+)+$"}, '"aaa"', json.dumps("a" * 5000 + "!")),
        ({"type": "string", "pattern": "b"}, '"abc"', '"ac"'),
        ({"patternProperties": {"^(x+)+$": {"type": "integer"}}}, '{"xx": 1, "y": "a"}', '{"xx": "a"}'),
        (
            {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False},
            '{"a": 1, "x": 2}',
            '{"b": 1}',
        ),
        ({"additionalProperties": {"type": "integer"}}, '{"b": 1}', '{"b": "x"}'),
        ({"type": "string", "pattern": "(?=x)x"}, None, '"x"'),
    ],
)
def test_patterns_are_checked_in_linear_time(schema: Any, good: str | None, bad: str) -> None:
    began = time.perf_counter()
    if good is not None:
        parse_json(schema, good)
    with pytest.raises(EngineError, match="breaks the schema"):
        parse_json(schema, bad)
    assert time.perf_counter() - began < 2


def test_half_of_a_surrogate_pair_in_a_schema_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="surrogates not allowed") as caught:
        check_enforceable({"const": "\ud800"})
    assert caught.value.code == "invalid_schema"


@pytest.mark.parametrize("text", ["1e999", "-1e999", "NaN", "Infinity", "[1, 1e999]"])
def test_a_number_that_no_json_can_hold_is_refused(text: str) -> None:
    with pytest.raises(EngineError, match="is no number that JSON can hold"):
        parse_json({}, text)


@pytest.mark.parametrize(
    ("step", "good", "bad"), [(0.1, "851.3", "851.35"), (0.1, "1" + 400 * "0", "0.05"), (3, "6.0", "1e2")]
)
def test_a_multiple_is_told_in_decimals(step: float, good: str, bad: str) -> None:
    schema = {"type": "number", "multipleOf": step}
    assert parse_json(schema, good) == json.loads(good)
    with pytest.raises(EngineError, match="is not a multiple of"):
        parse_json(schema, bad)


def deep(levels: int) -> Any:
    schema: Any = {"type": "integer"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


NAMES = {f"p{i}": {"type": "string"} for i in range(3000)}


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ({"type": "object", "properties": NAMES, "additionalProperties": False}, ""),
        ({"type": "object", "properties": NAMES, "required": list(NAMES)}, ""),
        ({"enum": [f"{i}" + "x" * 1000 for i in range(1000)]}, "schema_too_large"),
        (deep(31), ""),
        (deep(32), "schema_too_large"),
        (deep(5000), "invalid_schema"),
        ({"allOf": [{"type": "object", "properties": {f"p{i}": {"type": "integer"}}} for i in range(800)]}, "unsupported_schema"),
        ({"anyOf": [{"const": f"v{i}"} for i in range(3000)]}, ""),
    ],
    ids=["properties", "required", "megabyte", "deep", "deeper", "bottomless", "parts", "choices"],
)  # fmt: skip
def test_an_odd_schema_is_judged_in_bounded_time(schema: Any, code: str) -> None:
    began, found = time.process_time(), ""
    try:
        check_enforceable(schema)
    except InvalidRequest as refused:
        found = refused.code
    assert found == code
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("kind", "text", "valid"),
    [("allOf", "3", True), ("allOf", '"x"', False), ("anyOf", "3", True), ("anyOf", '"x"', False)],
)
def test_definitions_that_name_the_next_one_twice_are_checked_once_each(
    kind: str, text: str, valid: bool
) -> None:
    """Forty of them, 2^40 ways to the last one, in a schema of two kilobytes."""
    following: dict[str, Any] = {f"d{i}": {kind: [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)}
    following = json.loads(json.dumps(following))
    schema = {"$ref": "#/$defs/d0", "$defs": {**following, "d40": {"type": "integer"}}}
    check_enforceable(schema)
    began = time.process_time()
    try:
        assert (parse_json(schema, text), valid) == (3, True)
    except EngineError as refused:
        assert (refused.code, valid) == ("schema_mismatch", False)
    assert time.process_time() - began < 5
