"""Numbers with units in free text: 19.3 GB, 19,3 GB, 18 GiB, 19 300 MB, 4k tokens, 1.6-2 s, about 20 %."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from engine.rubric import Number

NUMBER = (
    r"(?:\d{1,3}(?:[ ,_'’\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+[.,]\d+|\d+)"
    r"(?:\s?(?:e|E|x\s?10\s?\^|\*\s?10\s?\^)\s?[-+]?\d+)?"
)
WORD_NUMBERS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
SHORT_SCALES = {
    "k": 1e3,
    "K": 1e3,
    "m": 1e6,
    "M": 1e6,
    "b": 1e9,
    "B": 1e9,
    "bn": 1e9,
    "G": 1e9,
    "T": 1e12,
    "mn": 1e6,
}
PREFIX = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
BINARY = {"ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40, "pi": 2.0**50}
WORD_PREFIX = {
    "kilo": 1e3,
    "mega": 1e6,
    "giga": 1e9,
    "tera": 1e12,
    "kibi": 2.0**10,
    "mebi": 2.0**20,
    "gibi": 2.0**30,
}

# unit word (lower case) -> (kind, factor to the kind's base unit)
UNITS: dict[str, tuple[str, float]] = {
    "b": ("bytes", 1.0), "byte": ("bytes", 1.0), "bit": ("bytes", 0.125),
    "s": ("seconds", 1.0), "sec": ("seconds", 1.0), "second": ("seconds", 1.0), "ms": ("seconds", 1e-3),
    "millisecond": ("seconds", 1e-3), "us": ("seconds", 1e-6), "µs": ("seconds", 1e-6),
    "μs": ("seconds", 1e-6),
    "microsecond": ("seconds", 1e-6), "min": ("seconds", 60.0), "minute": ("seconds", 60.0),
    "h": ("seconds", 3600.0), "hour": ("seconds", 3600.0), "day": ("seconds", 86400.0),
    "$": ("usd", 1.0), "usd": ("usd", 1.0), "dollar": ("usd", 1.0), "cent": ("usd", 0.01), "€": ("eur", 1.0),
    "eur": ("eur", 1.0), "euro": ("eur", 1.0), "%": ("share", 0.01), "percent": ("share", 0.01),
    "pct": ("share", 0.01), "flop": ("flops", 1.0), "gflop": ("flops", 1e9), "tflop": ("flops", 1e12),
    "pflop": ("flops", 1e15), "token": ("token", 1.0), "tok": ("token", 1.0), "word": ("word", 1.0),
    "layer": ("layer", 1.0), "head": ("head", 1.0), "parameter": ("parameter", 1.0),
    "param": ("parameter", 1.0),
    "request": ("request", 1.0), "pair": ("pair", 1.0), "time": ("times", 1.0), "fold": ("times", 1.0),
    "x": ("times", 1.0), "step": ("step", 1.0), "character": ("character", 1.0), "hz": ("hertz", 1.0),
    "v": ("volt", 1.0), "volt": ("volt", 1.0), "gram": ("gram", 1.0), "kg": ("gram", 1e3),
    "meter": ("metre", 1.0),
    "metre": ("metre", 1.0), "cm": ("metre", 0.01), "mm": ("metre", 1e-3), "km": ("metre", 1e3),
}  # fmt: skip
for _prefix, _factor in {**PREFIX, **BINARY}.items():
    UNITS[f"{_prefix}b"] = ("bytes", _factor)
for _prefix, _factor in WORD_PREFIX.items():
    UNITS[f"{_prefix}byte"] = ("bytes", _factor)
    UNITS[f"{_prefix}bit"] = ("bytes", _factor / 8)
BITS = {"Kb": 125.0, "kb": 125.0, "Mb": 125e3, "Gb": 125e6, "Tb": 125e9}
VAGUE_WIDTH = 0.05
WIDEST_RANGE = 0.15
QUANTITY = re.compile(
    rf"(?P<between>(?<=between ))?(?P<currency>[$€])?(?<![\w.])(?P<low>{NUMBER})"
    rf"(?:\s?(?:-|—|to|bis|(?(between)and|(?!)))\s?(?P<high>{NUMBER}))?"
    r"\s?-?(?P<scale>(?:hundred|thousand|million|billion|trillion|bn|mn|[kKMGTB])(?![\w]))?"
    r"(?P<gap>\s?-?)(?P<unit>[A-Za-zµμ]+|%|€|\$)?"
)
ABOUT = re.compile(
    r"(?:about|around|roughly|approx(?:imately)?\.?|circa|ca\.?|nearly|almost|some|~|≈|\bc\.)\s*$", re.I
)
NEGATIVE = re.compile(r"(?:^|[\s(])-$")
APART = re.compile(
    r"(?:less than|fewer than|(?:far|well|much) (?:below|above|under|over|more than)|nowhere near|far from)\s*$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text: the range in base units of `kind` ('' without a unit), and its span."""

    low: float
    high: float
    kind: str
    unit: str
    about: bool
    start: int
    end: int
    apart: bool = False  # "less than 19.3 GB" and "far from 19.3 GB" name what it isn't


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every quantity of a normalised text, written in digits or in words, in order."""
    found = [*_in_digits(text), *_in_words(text)]
    return tuple(sorted(found, key=lambda quantity: quantity.start))


def unit_of(name: str) -> tuple[str, float]:
    """The kind and factor of a unit as written in a rubric; an unknown unit is its own kind."""
    if not name.strip():
        return "", 1.0
    if name in BITS:
        # Rubrics and learners alike write "Gb" for gigabytes; bytes is the reading that helps.
        return UNITS[name.lower()]
    word = name.strip().lower()
    for candidate in (word, word.removesuffix("s"), word.split()[0], word.split()[0].removesuffix("s")):
        if candidate in UNITS:
            return UNITS[candidate]
    return word.removesuffix("s"), 1.0


def agrees(wanted: Number, quantity: Quantity) -> bool:
    """True when the quantity has the wanted kind of unit and lies within the tolerance."""
    kind, factor = unit_of(wanted.unit)
    if quantity.apart or not _same_kind(kind, quantity):
        return False
    target = wanted.value * factor
    width = abs(target) * (max(wanted.tolerance, VAGUE_WIDTH) if quantity.about else wanted.tolerance)
    spread = quantity.high - quantity.low
    if spread > max(2 * width, abs(target) * WIDEST_RANGE):
        return False  # a range so wide that it says little
    return quantity.low - width <= target <= quantity.high + width


def _same_kind(kind: str, quantity: Quantity) -> bool:
    if kind == quantity.kind or (kind in ("times", "") and quantity.kind in ("times", "")):
        return True
    # "19.3 G of cache" means gigabytes.
    return kind == "bytes" and not quantity.kind and quantity.unit in ("k", "K", "M", "G", "T")


def same_digits(wanted: Number, quantity: Quantity, text: str) -> bool:
    """True when the figure is right as written but its unit isn't (19.3 MB for 19.3 GB)."""
    match = re.match(NUMBER, text[quantity.start : quantity.end].lstrip("$€"))
    if match is None or quantity.apart or quantity.low < 0:
        return False
    value = _value(match.group())
    return abs(value - wanted.value) <= abs(wanted.value) * max(wanted.tolerance, 0.005)


def _in_digits(text: str) -> Iterator[Quantity]:
    for match in QUANTITY.finditer(text):
        scale = match["scale"] or ""
        factor = SCALES.get(scale.lower(), SHORT_SCALES.get(scale, 1.0))
        kind, unit_factor, end = _unit(match)
        low = _value(match["low"]) * factor
        high = _value(match["high"]) * factor if match["high"] else low
        if match["high"] and high < low:
            high = low
        if NEGATIVE.search(text[: match.start()]):
            low, high = -high, -low
        if match["currency"]:
            kind = UNITS[match["currency"]][0]
        before = text[: match.start()][-24:]
        about = bool(ABOUT.search(before))
        yield Quantity(
            low * unit_factor,
            high * unit_factor,
            kind,
            (match["unit"] or "") if kind else scale,
            about,
            match.start(),
            end,
            apart=bool(APART.search(before)),
        )


def _unit(match: re.Match[str]) -> tuple[str, float, int]:
    raw = match["unit"] or ""
    word = raw.lower()
    plural = word.removesuffix("s") if len(word) > 2 else word
    bare_end = (
        match.end("scale") if match["scale"] else match.end("high") if match["high"] else match.end("low")
    )
    single = len(raw) == 1 and raw.isalpha() and match["gap"].strip() == "" and match["gap"] != ""
    if single and raw.lower() not in ("b", "s", "h", "v", "x"):
        return "", 1.0, bare_end
    for name in (word, plural):
        if name in UNITS:
            return (*UNITS[name], match.end("unit"))
    return "", 1.0, bare_end


def _value(text: str) -> float:
    text = re.sub(r"[ _'’\u00a0\u202f]", "", text)
    text = re.sub(r"(?:x|\*)10\^", "e", text)
    mantissa, exponent = ([*re.split("[eE]", text, maxsplit=1), "0"])[:2]
    if "," in mantissa:
        thousands = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", mantissa)
        mantissa = mantissa.replace(",", "" if thousands else ".")
    return float(mantissa) * 10.0 ** max(-300, min(300, int(exponent)))


SPELT = "|".join(sorted([*WORD_NUMBERS, *SCALES], key=len, reverse=True))
ONE_OF_THEM = re.compile(r"\ba$", re.I)  # "a thousand tokens", but not "thousands of tokens"
NUMBER_WORD = re.compile(rf"\b(?:{SPELT})\b(?:[\s-](?:{SPELT}|and)\b)*(?:\s+([A-Za-z]+))?", re.I)


def _in_words(text: str) -> Iterator[Quantity]:
    for match in NUMBER_WORD.finditer(text):
        words = re.split(r"[\s-]+", match.group().lower())
        unit = words[-1] if words[-1] not in WORD_NUMBERS and words[-1] not in SCALES else ""
        before = text[: match.start()].rstrip()
        bare = all(word in SCALES or word == unit for word in words)
        if before[-1:].isdigit() or (bare and not ONE_OF_THEM.search(before)):
            continue
        kind, factor = ("", 1.0)
        for name in (unit, unit.removesuffix("s")):
            if name in UNITS and len(name) > 1:
                kind, factor = UNITS[name]
        value = _spelt(words) * factor
        about = bool(ABOUT.search(text[: match.start()][-16:]))
        yield Quantity(value, value, kind, unit, about, match.start(), match.end())


def _spelt(words: list[str]) -> float:
    total, current = 0.0, 0.0
    for word in words:
        if word in WORD_NUMBERS:
            current += WORD_NUMBERS[word]
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word in SCALES:
            total, current = total + max(current, 1) * SCALES[word], 0.0
    return total + current
