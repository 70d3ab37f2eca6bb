"""List prices of hosted models, in USD per million tokens, with their date: a start, every number can be replaced."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROWS = Path(__file__).with_name("price_rows.json")
OWN = "own"
FOUR = ("input", "output", "cache_read", "cache_write")


@dataclass(frozen=True, slots=True)
class Tier:
    """Prices of the whole request once its input is longer than `start` tokens."""

    start: int
    input: float
    output: float
    cache_read: float
    cache_write: float


@dataclass(frozen=True, slots=True)
class Price:
    """One model's prices; `accounting` says whether input counts include cached tokens."""

    id: str
    name: str
    input: float
    output: float
    cache_read: float
    cache_write: float
    tier: Tier | None
    accounting: str
    source: str


@dataclass(frozen=True, slots=True)
class PriceList:
    """All prices and where and when they are from."""

    prices: dict[str, Price]
    as_of: str
    source: str


@lru_cache(maxsize=1)
def price_list() -> PriceList:
    """The list that comes with the site."""
    held = json.loads(ROWS.read_text(encoding="utf-8"))
    return PriceList({row["id"]: _price(row) for row in held["rows"]}, held["as_of"], held["source"])


def _price(row: dict[str, object]) -> Price:
    tier = row.get("tier")
    return Price(
        id=str(row["id"]),
        name=str(row["name"]),
        **_four(row),
        tier=_tier(row, tier) if isinstance(tier, dict) else None,
        accounting=str(row["accounting"]),
        source=str(row["source"]),
    )


def _four(row: dict[str, object]) -> dict[str, float]:
    """The four prices; a missing cache price is the input price."""
    full = row["input"]
    found = {name: row.get(name, full) for name in FOUR}
    return {name: float(str(value)) for name, value in found.items()}


def _tier(row: dict[str, object], tier: dict[str, object]) -> Tier:
    """A price the tier doesn't name stays the row's; one that neither names is the tier's input price."""
    held = {name: row[name] for name in FOUR if name in row}
    return Tier(int(float(str(tier["start"]))), **_four(held | tier))
