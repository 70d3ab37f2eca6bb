"""JSON schemas: checked before anything is compiled, told whether they can be enforced, and used to validate texts.

Imports no torch, so that a web process can refuse a schema before a job is queued. llguidance is imported when asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jsonschema import exceptions as schema_errors
from jsonschema import validators

from engine.errors import EngineError, InvalidRequest

if TYPE_CHECKING:
    import llguidance

MAX_SCHEMA_BYTES = 128 * 1024
MAX_DEPTH = 64
JSON_OPTIONS: Any = {"whitespace_flexible": False}
UNENFORCED = re.compile(r'"([^"]+)"')


def limits() -> llguidance.LLParserLimits:
    """About a second of regex analysis at most; llguidance's own defaults for what a step may cost."""
    import llguidance

    return llguidance.LLParserLimits(initial_lexer_fuel=20_000_000, max_grammar_size=2_000_000)


def check_schema(schema: object) -> None:
    """Refuses a schema that is too large, too deep, not valid by its metaschema or that refers elsewhere."""
    if not isinstance(schema, (Mapping, bool)):
        raise InvalidRequest("invalid_schema", f"schema is {type(schema).__name__}; give an object", "schema")
    try:
        size = len(json.dumps(schema))
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
        validators.validator_for(plain, default=validators.Draft202012Validator).check_schema(plain)
    except schema_errors.SchemaError as error:
        where = "/".join(map(str, error.absolute_path)) or "its root"
        raise InvalidRequest(
            "invalid_schema", f"not a JSON schema: at {where}: {error.message}", "schema"
        ) from None
    _check_references(schema, schema)


def _depth(value: object, level: int) -> int:
    if level > MAX_DEPTH:
        return level
    children = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return max((_depth(child, level + 1) for child in children), default=level)


def _check_references(value: object, root: object) -> None:
    """Refuses $ref to other documents and chains of $ref that lead nowhere but back."""
    if isinstance(value, list):
        for item in value:
            _check_references(item, root)
    if not isinstance(value, Mapping):
        return
    target = value.get("$ref")
    if isinstance(target, str):
        if not target.startswith("#"):
            raise InvalidRequest(
                "unsupported_schema", f"$ref {target!r} leaves the schema; inline it", "schema"
            )
        _follow(target, root)
    for item in value.values():
        _check_references(item, root)


def _follow(target: str, root: object) -> None:
    seen: set[str] = set()
    while True:
        if target in seen:
            raise InvalidRequest("invalid_schema", f"$ref {target!r} refers to itself without end", "schema")
        seen.add(target)
        found = _resolve(target, root)
        if not (isinstance(found, Mapping) and isinstance(found.get("$ref"), str)):
            return
        target = found["$ref"]


def _resolve(target: str, root: object) -> object:
    found = root
    for part in target.lstrip("#").strip("/").split("/") if target.strip("#/") else []:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, Mapping) and key in found:
            found = found[key]
        else:
            # An anchor or an id: the compiler resolves or refuses it.
            return None
    return found


def schema_grammar(schema: Any) -> str:
    """The schema as a grammar of llguidance, not yet compiled."""
    import llguidance

    text = json.dumps({} if schema is True else schema)
    return str(llguidance.LLMatcher.grammar_from_json_schema(text, overrides=JSON_OPTIONS))


def check_enforceable(schema: object) -> None:
    """Everything `check_schema` refuses, and what a grammar can't hold, each by its keyword. Needs no tokenizer."""
    import llguidance

    check_schema(schema)
    error = llguidance.LLMatcher.validate_grammar(schema_grammar(schema), limits=limits())
    if error:
        raise refusal("schema", error)


class Unenforceable(InvalidRequest):
    """A constraint that no grammar can hold; `keywords` are those the schema would have to do without."""

    def __init__(self, field: str, message: str, keywords: tuple[str, ...]) -> None:
        super().__init__(f"unsupported_{field}", message, field)
        self.keywords = keywords


def refusal(field: str, error: str) -> Unenforceable:
    """The compiler's words as an error that names the keywords, where it was for some."""
    reason = error.splitlines()[0]
    keywords = tuple(UNENFORCED.findall(reason)) if reason.startswith("Unimplemented keys") else ()
    if keywords:
        reason = f"{' and '.join(keywords)} can't be expressed as a grammar"
    return Unenforceable(field, f"this {field} can't be enforced: {reason}", keywords)


def parse_json(schema: Any, text: str) -> Any:
    """The value of a finished text. Raises `EngineError` when it is no JSON, repeats a key or breaks the schema."""
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise EngineError("schema_mismatch", f"the output is not acceptable JSON: {error}") from None
    maker = validators.validator_for(schema, default=validators.Draft202012Validator)
    problem = schema_errors.best_match(maker(schema).iter_errors(value))
    if problem is not None:
        where = "/".join(map(str, problem.absolute_path)) or "its root"
        raise EngineError("schema_mismatch", f"the output breaks the schema at {where}: {problem.message}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found
