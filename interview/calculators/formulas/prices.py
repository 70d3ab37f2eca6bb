"""List prices of hosted models, in USD per million tokens, with their date: a start, every number can be replaced."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROWS = Path(__file__).with_name("price_rows.json")
OWN = "own"


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
    flat = _four(row, None)
    tier = row.get("tier")
    return Price(
        id=str(row["id"]),
        name=str(row["name"]),
        input=flat[0],
        output=flat[1],
        cache_read=flat[2],
        cache_write=flat[3],
        tier=_tier(tier, flat) if isinstance(tier, dict) else None,
        accounting=str(row["accounting"]),
        source=str(row["source"]),
    )


def _four(row: dict[str, object], fallback: tuple[float, ...] | None) -> tuple[float, float, float, float]:
    """Input, output, cache read and cache write; a missing cache price is the input price."""
    base = fallback or (0.0, 0.0, 0.0, 0.0)
    input_price = float(str(row.get("input", base[0])))
    output = float(str(row.get("output", base[1])))
    read = float(str(row.get("cache_read", base[2] if fallback else input_price)))
    write = float(str(row.get("cache_write", base[3] if fallback else input_price)))
    return input_price, output, read, write


def _tier(row: dict[str, object], base: tuple[float, ...]) -> Tier:
    return Tier(int(float(str(row["start"]))), *_four(row, base))
