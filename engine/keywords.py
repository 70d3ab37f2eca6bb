"""Keywords that would be passed over in silence: misspelt ones, and those of a draft that the schema isn't written in.

JSON Schema takes what it doesn't know for a remark. Somebody who wrote `minLenght` wanted it kept, so it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from engine.errors import InvalidRequest
from engine.references import schemas_in

# Keywords that a value can break. Unknown ones that look like one of these are taken for it, misspelt.
ASSERTIONS = (
    "$ref", "$defs", "$anchor", "$dynamicRef", "$recursiveRef", "additionalItems", "additionalProperties", "allOf",
    "anyOf", "const", "contains", "definitions", "dependencies", "dependentRequired", "dependentSchemas", "enum",
    "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxContains", "maxItems", "maxLength", "maxProperties",
    "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "oneOf", "pattern",
    "patternProperties", "prefixItems", "properties", "propertyNames", "required", "type", "unevaluatedItems",
    "unevaluatedProperties", "uniqueItems",
)  # fmt: skip
REMARKS = frozenset({
    "$comment", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema", "$vocabulary", "contentEncoding",
    "contentMediaType", "contentSchema", "default", "deprecated", "description", "discriminator", "else", "example",
    "examples", "externalDocs", "id", "if", "not", "nullable", "readOnly", "then", "title", "writeOnly", "xml",
})  # fmt: skip
LOWERED = {name.lower(): name for name in ASSERTIONS}
LETTERS = {"".join(sorted(name.lower())): name for name in ASSERTIONS}
# How much of a word must be right; shorter ones (`cost`, not `const`) are words of their own.
ALIKE, LONG = 0.83, 6
# What only the first drafts knew, with what is written today.
OUTDATED = {
    "divisibleBy": "multipleOf",
    "extends": "allOf",
    "disallow": "not",
}
OLDER = ("http://json-schema.org/draft-03", "http://json-schema.org/draft-04", "http://json-schema.org/draft-06",
         "http://json-schema.org/draft-07", "https://json-schema.org/draft/2019-09")  # fmt: skip


def check_keywords(schema: object, draft: Any) -> None:
    """Refuses what the schema's draft would pass over though its author meant something by it, with what to write."""
    told = str(draft.META_SCHEMA.get("$id") or draft.META_SCHEMA.get("id"))
    for part in schemas_in(schema):
        for key in part:
            if (meant := _outdated(key, part, told) or _misspelt(key)) is not None:
                where = told.removesuffix("#").removesuffix("/schema").rsplit("/", 1)[-1]
                raise InvalidRequest(
                    "unsupported_schema",
                    f"{key} is no keyword of JSON Schema {where} and would be passed over; write {meant}",
                    "schema",
                )


def _outdated(key: str, schema: Mapping[str, Any], draft: str) -> str | None:
    """What another draft calls so, under this one's name."""
    if key == "additionalItems" and "prefixItems" in schema and not draft.startswith(OLDER):
        return "items (beside prefixItems)"
    if key == "prefixItems" and draft.startswith(OLDER):
        return "items with a list"
    return OUTDATED.get(key)


def _misspelt(key: str) -> str | None:
    """The keyword that was meant; None for a known one and for a remark of the author's own."""
    if key in ASSERTIONS or key in REMARKS or key.startswith(("x-", "_")):
        return None
    small = key.lower().replace("_", "").replace("-", "")
    meant = LOWERED.get(small) or LOWERED.get(small.removesuffix("s")) or LOWERED.get(f"{small}s")
    if meant is None and len(small) >= LONG:
        meant = next((LOWERED[found] for found in get_close_matches(small, LOWERED, n=1, cutoff=ALIKE)), None)
    return meant or LETTERS.get("".join(sorted(small)))
