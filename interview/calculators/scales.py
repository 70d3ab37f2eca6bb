"""Axis ticks and number labels for pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from interview.calculators.formulas.units import DECIMAL_UNITS, both_bytes, number_text, seconds_text


@dataclass(frozen=True, slots=True)
class Scale:
    """From 0 to `top` in steps that read well; `factor` and `unit` turn a value into its label."""

    top: float
    step: float
    factor: float
    unit: str

    def ticks(self) -> list[float]:
        """The values to draw a line at, 0 left out."""
        count = round(self.top / self.step)
        return [self.step * i for i in range(1, count + 1)]

    def label(self, value: float) -> str:
        """The number without its unit."""
        return number_text(value / self.factor, 4)


def scale(highest: float, unit: str) -> Scale:
    """A scale that holds `highest` in three to five steps."""
    factor, name = _factor(highest, unit)
    raw = (highest or 1.0) / factor / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    top = math.ceil((highest or 1.0) / factor / step - 1e-9) * step
    return Scale(top * factor, step * factor, factor, name)


def _factor(highest: float, unit: str) -> tuple[float, str]:
    if unit == "bytes":
        return next(
            ((float(s), name) for s, name, least in DECIMAL_UNITS if highest >= least), (1.0, "bytes")
        )
    if unit == "s":
        return (1.0, "s") if highest >= 1 else (1e-3, "ms") if highest >= 1e-3 else (1e-6, "µs")
    return _counted(highest, unit)


def _counted(highest: float, unit: str) -> tuple[float, str]:
    for size, word in ((1e18, "quintillion"), (1e15, "quadrillion"), (1e12, "trillion"), (1e9, "billion")):
        if highest >= size * 10:
            return size, f"{word} {unit}".strip()
    return 1.0, unit


def reading(value: float, unit: str) -> str:
    """One value with its unit, as it stands beside a point or a bar."""
    if unit == "bytes":
        return both_bytes(round(value))
    if unit == "s":
        return " ".join(seconds_text(value))
    if unit == "USD":
        return f"${number_text(value, 6)}"
    return f"{number_text(whole(value))} {unit}".strip()


def whole(value: float) -> int | float:
    """A float without a fraction reads as a whole number."""
    return int(value) if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else value
