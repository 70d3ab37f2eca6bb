"""Checks of single values that come from outside: a number in its range, an object with known keys. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping

from engine.errors import InvalidRequest

SHOWN = 100  # characters of a refused value that its refusal repeats


def bad(name: str, value: object, allowed: str) -> InvalidRequest:
    """The refusal of a sampling setting."""
    return InvalidRequest("invalid_sampling", f"{name} is {shown(value)}; allowed: {allowed}", name)


def shown(value: object) -> str:
    """A value as a refusal repeats it: its beginning."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python writes out
        text = f"{type(value).__name__} of thousands of digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def real(name: str, value: object, low: float, high: float, allowed: str, *, open_low: bool = False) -> None:
    """Refuses what is no number from `low` (itself excluded with `open_low`) to `high`."""
    ok = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Compared, not converted: an integer of 400 digits has no float, and NaN is in no range.
    if not ok or not low <= value <= high or (open_low and value == low):  # type: ignore[operator]  # ok narrows
        raise bad(name, value, allowed)


def whole(name: str, value: object, low: int, high: int) -> None:
    """Refuses what is no whole number from `low` to `high`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise bad(name, value, f"a whole number from {low} to {high}")


def known_keys(data: object, allowed: set[str], what: str) -> None:
    """Refuses what is no object, or one with a key that isn't allowed."""
    if not isinstance(data, Mapping):
        raise InvalidRequest(f"invalid_{what}", f"{what} is {type(data).__name__}; give an object", what)
    unknown = sorted(map(str, set(data) - allowed))
    if unknown:
        message = f"unknown {what} key {shown(unknown[0])}; allowed: {', '.join(sorted(allowed))}"
        raise InvalidRequest(f"invalid_{what}", message, unknown[0][:SHOWN])
