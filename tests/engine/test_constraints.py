"""Outputs held inside a grammar, and what is refused at the door."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from engine import InvalidRequest, Message, Passage, Request, Sampling, TokenEvent
from engine.constraints import Constraint, find_quote, of_request, parse, quotes_grammar
from engine.errors import EngineError
from engine.llm import Engine
from engine.schemas import check_schema

SCHEMAS = sorted((Path(__file__).parent.parent / "data" / "schemas").glob("*.json"))
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


def ask(text: str = "Describe a person.", tokens: int = 80, **more: Any) -> Request:
    sampling = Sampling.from_dict({"max_tokens": tokens, **more.pop("sampling", {})})
    return Request(messages=(Message("user", text),), sampling=sampling, **more)


@pytest.mark.parametrize("seed", range(4))
def test_json_fits_its_schema_at_any_temperature(engine: Engine, seed: int) -> None:
    hot = {"temperature": 1.5, "seed": seed}
    result = engine.generate(ask(schema=PERSON, sampling=hot))
    assert result.finish_reason == "stop"
    jsonschema.validate(result.parsed, PERSON)
    assert json.loads(result.text) == result.parsed
    assert result.stats["constraint"] == {"kind": "schema", "valid": True, "truncated": False}
    assert result.stats["masks"] > 0


def test_truncated_output_is_never_called_valid(engine: Engine) -> None:
    result = engine.generate(ask(schema=PERSON, tokens=5))
    assert (result.finish_reason, result.parsed) == ("length", None)
    assert result.stats["constraint"]["truncated"]


def test_a_regex_and_a_grammar_hold(engine: Engine) -> None:
    dated = engine.generate(ask("When?", regex=r"20[0-9]{2}-(0[1-9]|1[0-2])"))
    assert re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", dated.text)
    assert dated.finish_reason == "stop"
    summed = engine.generate(ask("Add.", grammar='start: NUM "+" NUM "=" NUM\nNUM: /[0-9]{1,3}/'))
    assert re.fullmatch(r"\d{1,3}\+\d{1,3}=\d{1,3}", summed.text)


def test_choices_reach_the_first_token_even_when_the_prefix_is_cached(engine: Engine) -> None:
    text = "word " * 150 + "Is water wet?"
    engine.generate(ask(text, tokens=2))
    result = engine.generate(ask(text, choices=("yes, it is", "no, not at all")))
    assert result.usage["cached_tokens"] > 0
    assert result.parsed in ("yes, it is", "no, not at all")


def test_the_masked_mass_is_reported(engine: Engine) -> None:
    request = ask("Say hello.", choices=("zebra",), sampling={"logprobs": 3})
    tokens = [e for e in engine.submit(request) if isinstance(e, TokenEvent)]
    assert tokens[0].masked is not None and tokens[0].masked > 0.5
    assert all(a.kept == 0 or a.probability > 0 for a in tokens[0].alternatives)


def test_a_quote_is_verbatim_with_its_offsets(engine: Engine) -> None:
    passages = (
        Passage("p1", "The tower was finished in 1889. It stands in Paris."),
        Passage("p2", "Bread is baked from flour, water and salt."),
    )
    result = engine.generate(ask("When was the tower finished? Quote the text.", quotes=passages, tokens=30))
    assert result.finish_reason == "stop", result
    found = result.parsed
    source = {p.id: p.text for p in passages}[found["passage"]]
    assert source[found["start"] : found["end"]] == result.text == found["text"]
    assert result.text.strip()


@pytest.mark.parametrize(
    ("quote", "is_whole"), [(" ", False), ("\n", False), ("The quick", True), (" fox", True)]
)
def test_a_quote_holds_a_word(engine: Engine, quote: str, is_whole: bool) -> None:
    grammar = quotes_grammar([Passage("a", "The quick brown fox\n jumps"), Passage("b", "x y")])
    matcher = engine.grammars.matcher(Constraint("quotes", grammar))
    assert matcher.takes(engine.tokenizer.encode(quote)) is is_whole


def test_matchers_belong_to_requests_in_a_batch(engine: Engine) -> None:
    wanted = [ask(choices=(f"option {n}",)) for n in range(6)]
    handles = [engine.submit(r) for r in wanted] + [engine.submit(ask(tokens=10))]
    assert [h.result(60).text for h in handles[:6]] == [f"option {n}" for n in range(6)]


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ({"type": "strin"}, "invalid_schema"),
        ({"properties": {"a": {"required": True}}}, "invalid_schema"),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
            "invalid_schema",
        ),
        ({"$ref": "#"}, "invalid_schema"),
        ({"$ref": "https://example.org/s.json"}, "unsupported_schema"),
        ({"enum": ["x" * 1_000_000]}, "schema_too_large"),
        ({"enum": []}, "unsupported_schema"),
        (False, "invalid_schema"),
        ("text", "invalid_schema"),
        ([1], "invalid_schema"),
    ],
)
def test_a_bad_schema_is_refused(engine: Engine, schema: Any, code: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        engine.submit(ask(schema=schema))
    assert caught.value.code == code, caught.value.message


@pytest.mark.parametrize("keyword", ["uniqueItems", "contains", "not", "if", "propertyNames"])
def test_a_keyword_that_cant_be_enforced_is_named(engine: Engine, keyword: str) -> None:
    value: Any = True if keyword == "uniqueItems" else {"type": "string"}
    with pytest.raises(InvalidRequest, match=keyword) as caught:
        engine.submit(
            ask(
                schema={
                    "type": "array" if keyword in ("uniqueItems", "contains") else "object",
                    keyword: value,
                }
            )
        )
    assert caught.value.code == "unsupported_schema"


def test_a_deeply_nested_schema_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5000):
        schema = {"items": schema}
    with pytest.raises(InvalidRequest, match="schema"):
        check_schema(schema)


@pytest.mark.parametrize("regex", ["(", "(?=x)y", "x" * 2_000_000])
def test_a_wrong_regex_is_refused(engine: Engine, regex: str) -> None:
    with pytest.raises(InvalidRequest):
        engine.submit(ask(regex=regex))
    assert engine.generate(ask(tokens=1)).error is None


@pytest.mark.parametrize(
    "regex", ["((a{1,1000}){1,1000}){1,1000}", "(a*)*b", "(.*a){60}", "[ab]*a[ab]{400}c"]
)
def test_a_regex_that_explodes_costs_its_own_request_at_most(engine: Engine, regex: str) -> None:
    started = time.monotonic()
    try:
        result = engine.generate(ask(regex=regex, tokens=12))
        assert (
            result.finish_reason in ("length", "stop") or (result.error or {})["code"] == "constraint_failed"
        )
    except InvalidRequest as error:
        assert error.code == "unsupported_regex"
    assert time.monotonic() - started < 20
    assert engine.generate(ask(tokens=1)).error is None


def test_a_wrong_grammar_or_empty_quotes_are_refused(engine: Engine) -> None:
    with pytest.raises(InvalidRequest):
        engine.submit(ask(grammar="start: missing"))
    with pytest.raises(InvalidRequest):
        engine.submit(ask(quotes=(Passage("p", "  "),)))


def test_finished_text_is_validated_again() -> None:
    constraint = Constraint("schema", "", {"type": "object"})
    with pytest.raises(EngineError, match="same key twice"):
        parse(constraint, '{"a": 1, "a": 2}')
    with pytest.raises(EngineError, match="not acceptable JSON"):
        parse(constraint, '{"a": ')
    with pytest.raises(EngineError, match="breaks the schema"):
        parse(constraint, "[]")
    with pytest.raises(EngineError, match="in no passage"):
        find_quote([Passage("a", "text")], "other")


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda p: p.stem)
def test_real_schemas_hold_or_are_refused_by_name(engine: Engine, path: Path) -> None:
    schema = json.loads(path.read_text())["schema"]
    try:
        result = engine.generate(
            ask("Give an example.", schema=schema, tokens=60, sampling={"temperature": 1.0, "seed": 1})
        )
    except InvalidRequest as error:
        assert len(error.message) > 30
        return
    if result.finish_reason == "stop":
        maker = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        maker(schema).validate(result.parsed)
    else:
        assert result.finish_reason == "length"
        assert result.parsed is None


def test_a_request_without_a_constraint_has_none() -> None:
    assert of_request(ask()) is None
