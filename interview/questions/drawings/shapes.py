"""The few shapes all drawings are made of. Classes carry the colours, so that they follow the theme."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from django.utils.safestring import SafeString, mark_safe

WIDTH = 560


@dataclass(frozen=True)
class Drawing:
    """A picture, its caption, and the same numbers as a table where it shows any."""

    body: str
    height: int
    caption: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    def svg(self) -> SafeString:
        """The picture; screen readers hear the caption."""
        return mark_safe(
            f'<svg class="chart drawing" viewBox="0 0 {WIDTH} {self.height}" role="img" '
            f'aria-label="{escape(self.caption, quote=True)}">{self.body}</svg>'
        )


def box(x: float, y: float, w: float, h: float, words: str, *, kind: str = "") -> str:
    """A labelled box; `|` in the words breaks the line."""
    lines = words.split("|") if words else []
    top = y + h / 2 + 4 - 8 * (len(lines) - 1)
    labels = "".join(text(x + w / 2, top + 16 * i, line, middle=True) for i, line in enumerate(lines))
    return f'<rect class="box {kind}" x="{n(x)}" y="{n(y)}" width="{n(w)}" height="{n(h)}" rx="4"/>{labels}'


def text(
    x: float, y: float, words: str, *, middle: bool = False, end: bool = False, kind: str = "label"
) -> str:
    anchor = ' text-anchor="middle"' if middle else ' text-anchor="end"' if end else ""
    return f'<text class="{kind}" x="{n(x)}" y="{n(y)}"{anchor}>{escape(words)}</text>'


def arrow(x1: float, y1: float, x2: float, y2: float, *, kind: str = "") -> str:
    """A straight arrow, drawn with its own head, so that no marker id can clash."""
    long = max(1e-6, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    ux, uy = (x2 - x1) / long, (y2 - y1) / long
    left = (x2 - 7 * ux - 4 * uy, y2 - 7 * uy + 4 * ux)
    right = (x2 - 7 * ux + 4 * uy, y2 - 7 * uy - 4 * ux)
    head = f"M{n(left[0])} {n(left[1])}L{n(x2)} {n(y2)}L{n(right[0])} {n(right[1])}"
    return f'<path class="arrow {kind}" d="M{n(x1)} {n(y1)}L{n(x2)} {n(y2)}{head}"/>'


def path(d: str, kind: str = "arrow") -> str:
    return f'<path class="{kind}" d="{d}"/>'


def line(points: list[tuple[float, float]], kind: str = "line") -> str:
    return f'<polyline class="{kind}" points="{" ".join(f"{n(x)},{n(y)}" for x, y in points)}"/>'


def bar(x: float, base: float, w: float, h: float, *, now: bool = False) -> str:
    kind = "bar is-now" if now else "bar"
    return f'<rect class="{kind}" x="{n(x)}" y="{n(base - h)}" width="{n(w)}" height="{n(h)}"/>'


def row(
    words: list[str], y: float, h: float = 44, *, kinds: dict[int, str] | None = None, gap: float = 34
) -> str:
    """Boxes in a row with arrows between them, over the whole width."""
    w = (WIDTH - gap * (len(words) - 1)) / len(words)
    parts = [box(i * (w + gap), y, w, h, word, kind=(kinds or {}).get(i, "")) for i, word in enumerate(words)]
    parts += [
        arrow(i * (w + gap) + w + 4, y + h / 2, (i + 1) * (w + gap) - 4, y + h / 2)
        for i in range(len(words) - 1)
    ]
    return "".join(parts)


def grid(x: float, y: float, size: int, cell: float, seen: object) -> str:
    """A square of cells; `seen(row, column)` says which are filled."""
    return "".join(
        f'<rect class="box {"is-on" if seen(i, j) else ""}" x="{n(x + j * cell)}" y="{n(y + i * cell)}" '  # type: ignore[operator]
        f'width="{n(cell - 2)}" height="{n(cell - 2)}"/>'
        for i in range(size)
        for j in range(size)
    )


def n(value: float) -> str:
    """A coordinate with at most one decimal."""
    return re.sub(r"\.0$", "", f"{value:.1f}")
