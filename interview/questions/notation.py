"""How the author's form writes the parts of a point in lines of text, and reads them back."""

from __future__ import annotations

import csv
import re
from typing import Any

NUMBER = re.compile(r"^(?P<value>[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?)\s*(?P<unit>\D.*)?$")
SHARE = re.compile(r"^(?:±|\+/-)?\s*(\d+(?:[.,]\d+)?)\s*%$")
REQUIRED = "required"
HOW = "19.3 GB | 3 % | cache, sequence | required"


def lines(text: str) -> list[str]:
    """The lines that hold something."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def words(text: str) -> list[str]:
    """Words or phrases between commas; one that holds a comma stands in double quotes."""
    row = next(csv.reader([text], skipinitialspace=True), [])
    return [word.strip() for word in row if word.strip()]


def joined(phrases: list[str]) -> str:
    """The line that `words` reads into these phrases."""
    return ", ".join(f'"{p.replace(chr(34), chr(34) * 2)}"' if re.search(r'[,"]', p) else p for p in phrases)


def number_from(line: str) -> dict[str, Any]:
    """A number of a rubric from a line such as `19.3 GB | 3 % | cache, sequence | required`. Raises ValueError."""
    first, *rest = [part.strip() for part in line.split("|")]
    found = NUMBER.match(first)
    if found is None:
        raise ValueError(f"{first!r} is no number with a unit. Write it like this: {HOW}")
    number: dict[str, Any] = {"value": _value(found["value"]), "unit": (found["unit"] or "").strip()}
    for part in rest:
        if part.lower() == REQUIRED:
            number["required"] = True
        elif share := SHARE.match(part):
            number["tolerance"] = _value(share[1]) / 100
        elif part:
            number["of"] = words(part)
    return number


def number_line(number: dict[str, Any]) -> str:
    """The line that `number_from` reads into this number."""
    parts = [f"{number['value']!r} {number['unit']}".strip(), f"{_percent(number['tolerance'])} %"]
    if number["of"]:
        parts.append(joined(number["of"]))
    if number["required"]:
        parts.append(REQUIRED)
    return " | ".join(parts)


def _value(text: str) -> float:
    return float(text.replace(",", "."))


def _percent(share: float) -> str:
    return f"{round(share * 100, 10):g}" if round(share * 100, 10) / 100 == share else repr(share * 100)


def link_from(line: str, names: tuple[str, ...]) -> dict[str, str]:
    """A record of texts from a line with bars: `title | https://…`. Raises ValueError for too many parts."""
    parts = [part.strip() for part in line.split("|")]
    if len(parts) > len(names):
        raise ValueError(f"{len(parts)} parts, and at most {len(names)} are wanted: {' | '.join(names)}")
    return dict(zip(names, parts, strict=False))


def link_line(record: dict[str, str], names: tuple[str, ...]) -> str:
    """The line that `link_from` reads into this record."""
    parts = [record.get(name, "") for name in names]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return " | ".join(parts)
