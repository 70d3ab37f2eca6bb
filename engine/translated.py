"""A claim's quantities as the passage writes them, where both say the same: 0.25 seconds for 250 ms, 75% for three quarters.

Only then can the claim's words be held against the passage's word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.quantities import Quantity, quantities

SAME = 1e-6
PART = re.compile(
    r"\b(?:(?P<how>a|an|one|two|three|four)[ -])?(?P<of>half|thirds?|quarters?|fifths?|tenths?)(?= of| the\b)",
    re.I,
)
HOW = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4}
OF = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
ROUNDED = 0.005  # how far a percentage may be from the fraction it stands for
CURRENCIES = ("usd", "eur")
CENT = 0.01


# Units of everyday texts beside those of `quantities`: kind and size in its base unit.
MORE = {
    "tonne": ("gram", 1e6), "kilogram": ("gram", 1e3), "kilo": ("gram", 1e3), "milligram": ("gram", 1e-3), "mg": ("gram", 1e-3),
    "kilometre": ("metre", 1e3), "kilometer": ("metre", 1e3), "centimetre": ("metre", 0.01), "centimeter": ("metre", 0.01),
    "millimetre": ("metre", 1e-3), "millimeter": ("metre", 1e-3), "litre": ("litre", 1.0), "liter": ("litre", 1.0),
    "millilitre": ("litre", 1e-3), "milliliter": ("litre", 1e-3), "ml": ("litre", 1e-3), "week": ("seconds", 604_800.0),
    "kilowatt": ("watt", 1e3), "kw": ("watt", 1e3), "megawatt": ("watt", 1e6), "mw": ("watt", 1e6), "watt": ("watt", 1.0),
}  # fmt: skip
UNIT = re.compile(r"[ \u00a0-]?([A-Za-z]+)")


@dataclass(frozen=True, slots=True)
class _Amount:
    """A quantity with a unit, and where it stands."""

    value: float
    kind: str
    start: int
    end: int
    exact: bool = True


def translated(claim: str, evidence: str) -> str:
    """The claim with every amount written as the evidence writes the same amount."""
    there = list(_amounts(evidence))
    out, at = "", 0
    for mine in sorted(_amounts(claim), key=lambda amount: amount.start):
        match = next((one for one in there if _equal(mine, one)), None)
        written = claim[mine.start : mine.end].strip()
        if match is None or mine.start < at or written.lower() in evidence.lower():
            continue
        out += claim[at : mine.start] + evidence[match.start : match.end].strip()
        at = mine.start + len(claim[mine.start : mine.end].rstrip())
    return out + claim[at:]


def _amounts(text: str) -> Iterator[_Amount]:
    for found in quantities(text):
        if found.kind and found.low == found.high:
            yield _Amount(found.low, found.kind, found.start, found.end)
            of_any = CURRENCIES if found.unit.lower().startswith("cent") else ()
            for kind in of_any:
                if kind != found.kind:
                    yield _Amount(found.low, kind, found.start, found.end)
        elif not found.kind and found.low == found.high:
            yield from _more(found, text)
    for match in PART.finditer(text):
        of = match["of"].lower()
        share = HOW[(match["how"] or "one").lower()] / OF[of if of == "half" else of.removesuffix("s")]
        yield _Amount(share, "share", match.start(), match.end(), exact=False)


def _more(found: Quantity, text: str) -> Iterator[_Amount]:
    """A number with a unit that `quantities` doesn't know; in words it takes the unit along."""
    end = found.end - len(found.unit) if found.unit and text[: found.end].endswith(found.unit) else found.end
    unit = UNIT.match(text, end) or UNIT.match(text, end - 1)
    name = unit[1].lower() if unit else ""
    for word in (name, name.removesuffix("s")):
        if unit and word in MORE:
            kind, size = MORE[word]
            yield _Amount(found.low * size, kind, found.start, unit.end())
            return


def _equal(mine: _Amount, other: _Amount) -> bool:
    if mine.kind != other.kind:
        return False
    width = SAME * max(abs(mine.value), abs(other.value)) if mine.exact and other.exact else ROUNDED
    return abs(mine.value - other.value) <= width


def both_ends(wanted: Quantity, text: str, evidence: str) -> bool:
    """True for a range whose two figures the evidence gives one by one ("between 2010 and 2018")."""
    ends = re.findall(r"\d+(?:[.,]\d+)*", text[wanted.start : wanted.end])
    there = set(re.findall(r"\d+(?:[.,]\d+)*", evidence))
    return wanted.low < wanted.high and len(ends) == 2 and set(ends) <= there
