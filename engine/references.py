"""`$ref` within a JSON schema: none leaves it, none refers to itself without end, and a schema can be put into another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import unquote

from jsonschema.exceptions import ValidationError

from engine.errors import InvalidRequest

# Keywords whose values are data, not schemas, and those whose keys are names of the author's own.
DATA = frozenset({"const", "enum", "default", "examples"})
NAMED = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
# Keywords whose schemas are about the very value of the schema that they stand in.
SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")
SAME_VALUE = ("not", "if", "then", "else")


def check_references(schema: object) -> None:
    """Refuses `$ref` to other documents, and those whose target no finite value can satisfy."""
    targets = list(dict.fromkeys(t for part in schemas_in(schema) if isinstance(t := part.get("$ref"), str)))
    for target in targets:
        if not target.startswith("#"):
            raise InvalidRequest(
                "unsupported_schema", f"$ref {target!r} leaves the schema; inline it", "schema"
            )
    ends = _ending(targets, schema)
    circular = _circular(targets, schema)
    for target in targets:
        if target not in ends or target in circular:
            raise InvalidRequest("invalid_schema", f"$ref {target!r} refers to itself without end", "schema")


def schemas_in(value: object, *, named: bool = False) -> Iterator[Mapping[str, Any]]:
    """Every schema that lies in a schema, itself first; data (of `const`, say) holds none, whatever its keys are."""
    if isinstance(value, list):
        for item in value:
            yield from schemas_in(item)
    elif isinstance(value, Mapping):
        if not named:
            yield value
        for key, item in value.items():
            if named or key not in DATA:
                yield from schemas_in(item, named=not named and key in NAMED)


def _circular(targets: list[str], root: object) -> set[str]:
    """Targets that come back to themselves before any part of the value is looked at: no check of one ends."""
    same = {target: set(_same_value(resolve(target, root))) for target in targets}
    try:
        TopologicalSorter(same).prepare()
    except CycleError as error:
        return set(error.args[1])
    return set()


def _same_value(schema: object) -> Iterator[str]:
    """What a schema refers to for the very value that it describes itself."""
    if not isinstance(schema, Mapping):
        return
    if isinstance(target := schema.get("$ref"), str):
        yield target
    branches = [part for key in SAME_VALUE_LISTS for part in _list(schema.get(key))]
    dependent = schema.get("dependentSchemas")
    branches += dependent.values() if isinstance(dependent, Mapping) else ()
    for part in [*branches, *(schema.get(key) for key in SAME_VALUE)]:
        yield from _same_value(part)


def _ending(targets: list[str], root: object) -> set[str]:
    """The targets that some finite value satisfies, grown from those that need no other until nothing is added."""
    found: set[str] = set()
    waiting: dict[str, set[str]] = {}
    queue = list(targets)
    while queue:
        target = queue.pop()
        if target in found:
            continue
        needed: set[str] = set()
        if _ends(resolve(target, root), found, needed):
            found.add(target)
            queue += waiting.pop(target, ())
        for other in needed:
            waiting.setdefault(other, set()).add(target)
    return found


def _ends(schema: object, found: set[str], needed: set[str]) -> bool:
    """Whether a value can be finished with the targets found so far; those that were in the way are noted."""
    if not isinstance(schema, Mapping):
        return True

    def ends(part: object) -> bool:
        return _ends(part, found, needed)

    target = schema.get("$ref")
    if isinstance(target, str) and target not in found:
        needed.add(target)
        return False
    if not all(ends(part) for part in _list(schema.get("allOf"))):
        return False
    for key in ("anyOf", "oneOf"):
        branches = _list(schema.get(key))
        if branches and not any(ends(part) for part in branches):
            return False
    # Without `type`, a value of another type satisfies the schema: nothing has to be filled in.
    kind = schema.get("type")
    if kind in ("object", ["object"]):
        return all(ends(part) for part in _required(schema))
    return _items_end(schema, ends) if kind in ("array", ["array"]) else True


def _required(schema: Mapping[str, Any]) -> Iterator[object]:
    """The schemas of the properties that an object must have."""
    declared = schema.get("properties")
    for name in _list(schema.get("required")):
        if isinstance(declared, Mapping) and name in declared:
            yield declared[name]
        elif "patternProperties" not in schema:
            yield schema.get("additionalProperties")


def _items_end(schema: Mapping[str, Any], ends: Callable[[object], bool]) -> bool:
    """Whether as many items as an array must have can be finished."""
    least, items = schema.get("minItems", 0), schema.get("items")
    first = _list(schema.get("prefixItems")) or _list(items)
    if not all(ends(part) for part in first[: int(least)]):
        return False
    return least <= len(first) or ends(items)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def resolve(target: str, root: object) -> object:
    """What a pointer or an anchor stands for; None for an id, which the compiler resolves or refuses."""
    found = root
    if target.strip("#") and not target.startswith("#/"):
        return _anchored(target, root)
    for part in target.lstrip("#").strip("/").split("/") if target.strip("#/") else []:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, Mapping) and key in found:
            found = found[key]
        else:
            return None
    return found


Keyword = Callable[[Any, Any, Any, Any], Any]


def looked_at_once(follow: Keyword) -> Keyword:
    """A validator's `$ref` that looks at a value once for each place that refers to it, however often it comes by.

    Otherwise definitions that each name the next one twice take twice as long with every further definition.
    """
    known: dict[tuple[int, int], str | None] = {}

    def ref(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        place = id(schema), id(instance)
        if place not in known:
            errors = list(follow(validator, target, instance, schema) or ())
            known[place] = errors[0].message if errors else None
            yield from errors
        elif (message := known[place]) is not None:
            yield ValidationError(message)

    return ref


def _anchored(target: str, root: object) -> object:
    """The schema that calls itself by this name; until draft 7 an `$id` did so."""
    for schema in schemas_in(root):
        if target in (f"#{schema.get('$anchor')}", f"#{schema.get('$dynamicAnchor')}", schema.get("$id")):
            return schema
    return None


def moved(schema: Any, place: str) -> Any:
    """The schema as a part of another: its pointers lead to where it stands there (`place`, "#/anyOf/0")."""
    return _moved(schema, place, named=False)


def _moved(value: Any, place: str, *, named: bool) -> Any:
    if isinstance(value, list):
        return [_moved(item, place, named=False) for item in value]
    # A schema with an `$id` of its own is its own root wherever it stands.
    if not isinstance(value, Mapping) or (not named and isinstance(value.get("$id"), str)):
        return value
    made: dict[str, Any] = {}
    for key, item in value.items():
        if not named and key == "$ref" and isinstance(item, str):
            made[key] = place + item[1:] if item == "#" or item.startswith("#/") else item
        elif not named and key in DATA:
            made[key] = item
        else:
            made[key] = _moved(item, place, named=not named and key in NAMED)
    return made
