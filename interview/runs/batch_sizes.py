"""How many requests shared each forward pass of a run, step by step: as a picture and as the rows of its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

HEIGHT, TOP, FOOT = 96, 20, 22
MOST_ROWS = 60


@dataclass(frozen=True)
class Stretch:
    """Steps in a row that the same number of requests shared; `first` and `last` count from 1."""

    first: int
    last: int
    size: int


@dataclass(frozen=True)
class BatchSizes:
    """The batch over a run's steps. `more` stretches at the end are in the JSON alone."""

    stretches: list[Stretch]
    steps: int
    most: int
    mean: float
    picture: str
    more: int


def batch_sizes(trace: dict[str, Any]) -> BatchSizes | None:
    """Of the answer that took most steps; None for a run whose engine told nothing of its batch."""
    stats = trace.get("stats")
    listed = [one.get("batch_sizes") for one in (stats if isinstance(stats, list) else [stats]) if one]
    pairs = max((found for found in listed if found), key=_steps, default=None)
    if not pairs:
        return None
    stretches, at = [], 0
    for size, steps in pairs:
        stretches.append(Stretch(at + 1, at + steps, size))
        at += steps
    most = max(size for size, _ in pairs)
    mean = sum(size * steps for size, steps in pairs) / at
    more = max(0, len(stretches) - MOST_ROWS)
    return BatchSizes(stretches[:MOST_ROWS], at, most, mean, _picture(stretches, at, most), more)


def _steps(pairs: Sequence[Sequence[int]]) -> int:
    return sum(steps for _, steps in pairs)


def _picture(stretches: list[Stretch], steps: int, most: int) -> str:
    """A bar a stretch: as wide as its steps, as high as its batch."""
    bars = "".join(_bar(one, steps, most) for one in stretches)
    words = f"Requests that shared each of {steps} steps: {most} at most."
    foot = TOP + HEIGHT + 16
    return (
        f'<svg class="chart" width="100%" height="{TOP + HEIGHT + FOOT}" role="img" aria-labelledby="batch-sizes-title">'
        f'<title id="batch-sizes-title">{escape(words)}</title>'
        f'<line class="grid" x1="0" x2="100%" y1="{TOP}" y2="{TOP}"/>{bars}'
        f'<line class="axis" x1="0" x2="100%" y1="{TOP + HEIGHT}" y2="{TOP + HEIGHT}"/>'
        f'<text x="0" y="{TOP - 5}">{most} {"request" if most == 1 else "requests"}</text>'
        f'<text x="0" y="{foot}">1</text><text x="100%" y="{foot}" text-anchor="end">step {steps}</text></svg>'
    )


def _bar(one: Stretch, steps: int, most: int) -> str:
    x, width = 100 * (one.first - 1) / steps, 100 * (one.last - one.first + 1) / steps
    height = HEIGHT * one.size / most
    return (
        f'<rect class="bar" x="{x:.3f}%" y="{TOP + HEIGHT - height:.2f}" width="{width:.3f}%" height="{height:.2f}">'
        f"<title>steps {one.first} to {one.last}: {one.size}</title></rect>"
    )
