"""JSON schemas: checked before anything is compiled, told whether they can be enforced, and used to validate texts.

Imports no torch, so that a web process can refuse a schema before a job is queued. llguidance is imported when asked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jsonschema import exceptions as schema_errors
from jsonschema import validators

from engine import repeats
from engine.errors import EngineError, InvalidRequest
from engine.keywords import check_keywords
from engine.references import check_references, looked_at_once

if TYPE_CHECKING:
    import llguidance

    from engine.types import Request

MAX_SCHEMA_BYTES = 128 * 1024
MAX_GRAMMAR_BYTES = 1024 * 1024
MAX_DEPTH = 64
EXACT_DIGITS = 5000  # more than a number that Python reads can have
JSON_OPTIONS: Any = {"whitespace_flexible": False}
META_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
UNENFORCED = re.compile(r'"([^"]+)"')


def limits() -> llguidance.LLParserLimits:
    """About a second of regex analysis at most; llguidance's own defaults for what a step may cost."""
    import llguidance

    return llguidance.LLParserLimits(initial_lexer_fuel=20_000_000, max_grammar_size=2_000_000)


def check_repeats(pattern: str, field: str) -> None:
    """Refuses a pattern that forces more text than any answer has: the loop would spell it out for a minute."""
    if (count := repeats.repeated(pattern)) > repeats.MOST:
        message = f"pattern {pattern[:60]!r} repeats a part at least {count} times; at most {repeats.MOST}"
        raise InvalidRequest(f"invalid_{field}", message, field)


def check_schema(schema: object) -> None:
    """Refuses a schema that is too large, too deep, not valid by its metaschema or that refers elsewhere."""
    if not isinstance(schema, (Mapping, bool)):
        raise InvalidRequest("invalid_schema", f"schema is {type(schema).__name__}; give an object", "schema")
    try:
        size = len(json.dumps(schema, allow_nan=False))
        json.dumps(schema, ensure_ascii=False).encode()  # half a surrogate pair is no text
        depth = _depth(schema, 0)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest("invalid_schema", f"schema is not JSON: {error}", "schema") from None
    if size > MAX_SCHEMA_BYTES:
        raise InvalidRequest(
            "schema_too_large", f"schema has {size} bytes; at most {MAX_SCHEMA_BYTES}", "schema"
        )
    if depth > MAX_DEPTH:
        raise InvalidRequest("schema_too_large", f"schema is nested over {MAX_DEPTH} deep", "schema")
    if schema is False:
        raise InvalidRequest("invalid_schema", "schema is false: no text satisfies it", "schema")
    try:
        plain: Any = schema
        draft_of(plain).check_schema(plain)
    except schema_errors.SchemaError as error:
        where = "/".join(map(str, error.absolute_path)) or "its root"
        raise InvalidRequest(
            "invalid_schema", f"not a JSON schema: at {where}: {error.message}", "schema"
        ) from None
    check_references(schema)
    check_keywords(schema, draft_of(schema))
    for pattern in repeats.patterns_of(schema):
        check_repeats(pattern, "schema")


def draft_of(schema: Any) -> Any:
    """The validator of the draft that a schema names; raises `InvalidRequest` for one that isn't known."""
    named = schema.get("$schema") if isinstance(schema, Mapping) else None
    if named is None:
        return validators.Draft202012Validator
    unknown: Any = None
    found: Any = validators.validator_for(schema, default=unknown) if isinstance(named, str) else None
    if found is None:
        message = f"$schema is {named!r}; leave it out or name a draft, {META_SCHEMA!r} for one"
        raise InvalidRequest("invalid_schema", message, "schema")
    return found


def _depth(value: object, level: int) -> int:
    if level > MAX_DEPTH:
        return level
    children = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return max((_depth(child, level + 1) for child in children), default=level)


def schema_grammar(schema: Any) -> str:
    """The schema as a grammar of llguidance, not yet compiled."""
    import llguidance

    # What stands under this key would tell the compiler to be lenient.
    given = {} if schema is True else {key: part for key, part in schema.items() if key != "x-guidance"}
    text = json.dumps(given)
    return str(llguidance.LLMatcher.grammar_from_json_schema(text, overrides=JSON_OPTIONS))


def check_enforceable(schema: object) -> None:
    """Everything `check_schema` refuses, and what a grammar can't hold, each by its keyword. Needs no tokenizer."""
    import llguidance

    check_schema(schema)
    error = llguidance.LLMatcher.validate_grammar(schema_grammar(schema), limits=limits())
    if error:
        raise refusal("schema", error)


def check_constraint(request: Request) -> None:
    """Refuses a schema, regex, grammar or list of tools that no grammar can hold. Needs no tokenizer."""
    import llguidance

    from engine.tools import call_schema

    if request.schema is not None:
        return check_enforceable(request.schema)
    if request.tools:
        return check_enforceable(call_schema(request.tools))
    makers = {
        "regex": llguidance.LLMatcher.grammar_from_regex,
        "grammar": llguidance.LLMatcher.grammar_from_lark,
    }
    for field, make in makers.items():
        if (text := getattr(request, field)) is not None:
            error = llguidance.LLMatcher.validate_grammar(make(sized(text, field)), limits=limits())
            if error:
                raise refusal(field, error)
    return None


def sized(text: object, field: str) -> str:
    """A regex or grammar that isn't empty and not too large. Raises InvalidRequest."""
    if not isinstance(text, str) or not text or len(text.encode()) > MAX_GRAMMAR_BYTES:
        raise InvalidRequest(
            f"invalid_{field}", f"{field} must be text of 1 to {MAX_GRAMMAR_BYTES} bytes", field
        )
    check_repeats(text, field)
    return text


class Unenforceable(InvalidRequest):
    """A constraint that no grammar can hold; `keywords` are those the schema would have to do without."""

    def __init__(self, field: str, message: str, keywords: tuple[str, ...]) -> None:
        super().__init__(f"unsupported_{field}", message, field)
        self.keywords = keywords


def refusal(field: str, error: str) -> Unenforceable:
    """The compiler's words as an error that names the keywords, where it was for some."""
    reason = _told(error)
    keywords = tuple(UNENFORCED.findall(reason)) if reason.startswith("Unimplemented keys") else ()
    if keywords:
        reason = f"{' and '.join(keywords)} can't be expressed as a grammar"
    elif reason.startswith("oneOf constraints"):
        keywords = ("oneOf",)
        reason = "oneOf can't be expressed as a grammar where its branches may overlap; write anyOf"
    return Unenforceable(field, f"this {field} can't be enforced: {reason}", keywords)


def _told(error: str) -> str:
    """The compiler's reason in a line; a regex is named with what is wrong in it, which comes last."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    if len(lines) < 2 or not lines[0].startswith("regex parse error"):
        return lines[0] if lines else "the compiler gave no reason"
    cause = next((line for line in lines if line.startswith("error: ")), lines[-1])
    return f"pattern {lines[1]!r}: {cause.removeprefix('error: ')}"


def validator_of(schema: Any) -> Any:
    """A validator whose patterns and references take linear time whatever somebody wrote (others can take for ever)."""
    draft = draft_of(schema)
    replaced = {**_REPLACED, "$ref": looked_at_once(draft.VALIDATORS["$ref"])}
    return validators.extend(draft, replaced)(schema)  # type: ignore[no-untyped-call]


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield schema_errors.ValidationError(f"{instance!r} doesn't match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for key, value in instance.items():
                if matches(pattern, key):
                    yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [k for k in instance if k not in named and not any(matches(p, k) for p in patterns)]
    if additional is False and extra:
        yield schema_errors.ValidationError(f"the key {extra[0]!r} isn't allowed")
    elif isinstance(additional, dict):
        for key in extra:
            yield from validator.descend(instance[key], additional, path=key)


def _multiple_of(validator: Any, step: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """In decimals, as the numbers are written: in floats 851.3 is no multiple of 0.1."""
    if isinstance(instance, (int, float)) and not isinstance(instance, bool):
        with localcontext(prec=EXACT_DIGITS):
            if Decimal(str(instance)) % Decimal(str(step)):
                yield schema_errors.ValidationError(f"{instance!r} is not a multiple of {step!r}")


_REPLACED: Any = {
    "multipleOf": _multiple_of,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches a schema's pattern, in time linear in the text. A pattern that can't be compiled
    (look-around, back-references) matches nothing.
    """
    found = _string_matcher(pattern)
    if found is None:
        return False
    matcher = found.deep_copy()
    written = list(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))
    if matcher.validate_tokens(written) < len(written):
        return False
    matcher.consume_tokens(written)
    return bool(matcher.is_accepting())


@lru_cache(maxsize=64)
def _string_matcher(pattern: str) -> Any:
    import llguidance

    grammar = schema_grammar({"type": "string", "pattern": pattern})
    made = llguidance.LLMatcher(_byte_tokenizer(), grammar, log_level=0, limits=limits())
    return None if made.is_error() else made


@lru_cache(maxsize=1)
def _byte_tokenizer() -> Any:
    import llguidance

    return llguidance.LLTokenizer("byte")


def read_json(text: str) -> Any:
    """What a text says as JSON. Raises `ValueError` where a key comes twice or a number can't be written down again."""
    return json.loads(
        text, object_pairs_hook=_unique, parse_int=_whole, parse_float=_finite, parse_constant=_finite
    )


def parse_json(schema: Any, text: str) -> Any:
    """The value of a finished text. Raises `EngineError` when it is no JSON, repeats a key or breaks the schema."""
    try:
        value = read_json(text)
    except (ValueError, RecursionError) as error:
        raise EngineError("schema_mismatch", f"the output is not acceptable JSON: {error}") from None
    try:
        problem = schema_errors.best_match(validator_of(schema).iter_errors(value))
    except Exception as error:
        # A schema that refers to itself, a deep value and an integer beyond floats end jsonschema in other errors.
        why = f"the output can't be checked against the schema: {type(error).__name__}"
        raise EngineError("schema_mismatch", why) from None
    if problem is not None:
        where = "/".join(map(str, problem.absolute_path)) or "its root"
        raise EngineError("schema_mismatch", f"the output breaks the schema at {where}: {problem.message}")
    return value


def _whole(written: str) -> int:
    try:
        return int(written)
    except ValueError:  # Python reads no more digits than this at once
        raise ValueError(f"a number of {len(written)} digits is too long") from None


def _finite(written: str) -> float:
    """A number that can be written down again: neither NaN nor 1e999 can."""
    found = float(written)
    if not math.isfinite(found):
        raise ValueError(f"{written} is no number that JSON can hold")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found
