"""Matrices and boxes of a PDF page: six numbers (a b c d e f), and left, bottom, right, top."""

from __future__ import annotations

import math
from collections.abc import Sequence

Matrix = Sequence[float]
Box = tuple[float, float, float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
EVERYWHERE: Box = (-math.inf, -math.inf, math.inf, math.inf)


def times(a: Matrix, b: Matrix) -> Matrix:
    """First a, then b."""
    """First a, then b."""
    return (
        a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3], a[4] * b[0] + a[5] * b[2] + b[4], a[4] * b[1] + a[5] * b[3] + b[5],
    )  # fmt: skip


def area(m: Matrix) -> float:
    """How much larger areas become."""
    return m[0] * m[3] - m[1] * m[2]


def at(m: Matrix, x: float, y: float) -> tuple[float, float]:
    """Where a point goes."""
    return x * m[0] + y * m[2] + m[4], x * m[1] + y * m[3] + m[5]


def within(box: Box, x: float, y: float, margin: float = 0.0) -> bool:
    """True for a point in a box or up to `margin` beside it."""
    return box[0] - margin <= x <= box[2] + margin and box[1] - margin <= y <= box[3] + margin


def corners(m: Matrix, x: float, y: float, width: float, height: float) -> Box:
    """The box round a rectangle as it is drawn."""
    points = [at(m, x + dx, y + dy) for dx in (0.0, width) for dy in (0.0, height)]
    across, up = [p[0] for p in points], [p[1] for p in points]
    return min(across), min(up), max(across), max(up)


def square(m: Matrix) -> Box:
    """The box round the unit square, which a picture fills."""
    return corners(m, 0.0, 0.0, 1.0, 1.0)


def around(boxes: Sequence[Box]) -> Box:
    """The box round several."""
    return (
        min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)
    )  # fmt: skip


def overlap(box: Box, page: Box) -> float:
    """The share of the page that lies in a box."""
    width = min(box[2], page[2]) - max(box[0], page[0])
    height = min(box[3], page[3]) - max(box[1], page[1])
    whole = (page[2] - page[0]) * (page[3] - page[1])
    return max(0.0, width) * max(0.0, height) / whole if whole else 0.0
