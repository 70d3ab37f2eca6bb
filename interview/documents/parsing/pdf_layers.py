"""Layers of a PDF (optional content) that are off when it is opened."""

from __future__ import annotations

from typing import Any

from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject


def hidden_layers(root: DictionaryObject) -> frozenset[int]:
    """Object numbers of the layers that are off when the document is opened."""
    try:
        layers = resolved(root.get("/OCProperties", {}))
        first = resolved(layers.get("/D", {}))
        off = {_number(one) for one in resolved(first.get("/OFF", []))}
        if first.get("/BaseState") == "/OFF":
            on = {_number(one) for one in resolved(first.get("/ON", []))}
            off |= {_number(one) for one in resolved(layers.get("/OCGs", []))} - on
        return frozenset(off - {0})
    except (TypeError, AttributeError, KeyError):
        return frozenset()


def _number(entry: Any) -> int:
    return entry.idnum if isinstance(entry, IndirectObject) else 0


def is_off(drawn: DictionaryObject, off: frozenset[int]) -> bool:
    """True for something drawn on a layer that is off."""
    return "/OC" in drawn and layer_off(drawn.raw_get("/OC"), off)


def layer_off(entry: Any, off: frozenset[int]) -> bool:
    """True for a layer that is off, and for a group of layers that all are."""
    if entry is None or not off:
        return False
    if _number(entry) in off:
        return True
    group = resolved(entry)
    if not isinstance(group, DictionaryObject) or "/OCGs" not in group:
        return False
    members = group.raw_get("/OCGs")
    if not isinstance(resolved(members), ArrayObject):
        return _number(members) in off
    listed = list(resolved(members))
    return bool(listed) and all(_number(one) in off for one in listed)


def resolved(value: Any) -> Any:
    """What a reference leads to."""
    return value.get_object() if isinstance(value, IndirectObject) else value
