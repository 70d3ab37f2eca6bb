"""Short lists typed as text: `tea 0.5, coffee 0.2` or one entry a line."""

from __future__ import annotations

import math
import re

from interview.calculators.formulas.parameters import refuse, visible

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def entries(text: str) -> list[str]:
    """The entries of a list, split at commas, semicolons and line ends."""
    return [part.strip() for part in re.split(r"[,;\n]", text) if part.strip()]


def number(field: str, text: str) -> float:
    """One number of a list. Raises InputErrors on `field`."""
    if not NUMBER.fullmatch(text) or len(text) > 40:
        raise refuse(field, f"“{visible(text)}” is not a number")
    value = float(text)
    if not math.isfinite(value):
        raise refuse(field, f"“{visible(text)}” is too large")
    return value


def numbers(field: str, text: str, *, most: int) -> list[float]:
    """A list of one to `most` numbers. Raises InputErrors on `field`."""
    found = [number(field, part) for entry in entries(text) for part in entry.split()]
    return _counted(field, found, most)


def named_numbers(field: str, text: str, *, most: int, unnamed: str = "") -> list[tuple[str, float]]:
    """`name value`, `name: value` or `name=value`; a bare number is called `unnamed` and its place.

    Raises InputErrors on `field` for anything else, for a name given twice and for more than `most`.
    """
    found = [
        _named(field, entry, f"{unnamed} {i}" if unnamed else "") for i, entry in enumerate(entries(text))
    ]
    names = [name for name, _ in found]
    twice = next((n for n in names if names.count(n) > 1), None) if len(names) <= most else None
    if twice is not None:
        raise refuse(field, f"“{visible(twice)}” is given twice")
    return _counted(field, found, most)


def _named(field: str, entry: str, unnamed: str) -> tuple[str, float]:
    name, _, value = re.sub(r"\s*[:=]\s*", " ", entry).rpartition(" ")
    if not name.strip() and not unnamed:
        raise refuse(field, f"“{visible(entry)}” needs a name and a number")
    return name.strip()[:60] or unnamed, number(field, value.strip())


def _counted(field: str, found: list, most: int) -> list:  # type: ignore[type-arg]  # the entries' type is the caller's
    if not found:
        raise refuse(field, "is empty: give at least one entry")
    if len(found) > most:
        raise refuse(field, f"has {len(found)} entries: at most {most}")
    return found
