"""Lists and tables of a result as HTML: written here, because a template's loops took half of a page's time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from django.utils.safestring import SafeString, mark_safe

from interview.calculators import tables
from interview.calculators.formulas.expression import to_mathml
from interview.calculators.formulas.result import Piece, Step, Table
from interview.calculators.formulas.units import grouped, number_text
from interview.calculators.scales import reading

# A table longer than this is cut on the page (a row is some 110 bytes); the JSON has all of it.
MOST_ROWS = 500
# An expression longer than this may have to be scrolled on a phone, so the keyboard must reach it.
WIDE = 16
NUMBER = ' class="num"'


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table with its cells ready."""

    table: Table
    rows: tuple[tuple[tables.Cell, ...], ...]
    cut: str = ""

    @property
    def html(self) -> SafeString:
        """The table under its visible caption."""
        return mark_safe(self._drawn())

    @property
    def html_of_picture(self) -> SafeString:
        """The table of a picture, which bears the caption already."""
        return mark_safe(self._drawn(", numbers", ' class="sr"'))

    def _drawn(self, said: str = "", caption: str = "") -> str:
        title, note = escape(self.table.caption), self.table.note
        return (
            f'<div class="table-scroll" tabindex="0" role="region" aria-label="{title}{said}"><table class="data">'
            f"<caption{caption}>{title}</caption><thead><tr>{self._heads()}</tr></thead>"
            f"<tbody>{''.join(map(_row, self.rows))}</tbody></table></div>{_hint(self.cut)}{_hint(note)}"
        )

    def _heads(self) -> str:
        """Column heads, set as their columns are."""
        numeric = [c.is_number for c in self.rows[0]] if self.rows else [False] * len(self.table.columns)
        return "".join(
            f'<th scope="col"{NUMBER if n else ""}>{escape(text)}</th>'
            for text, n in zip(self.table.columns, numeric, strict=True)
        )


def table(given: Table) -> ShownTable:
    """The table as the page shows it, cut where it is long."""
    whole = len(given.rows)
    cut = (
        f"The first {MOST_ROWS} rows of {grouped(whole)}; the JSON has them all." if whole > MOST_ROWS else ""
    )
    return ShownTable(given, tables.cells(given.rows[:MOST_ROWS]), cut)


def _row(row: tuple[tables.Cell, ...]) -> str:
    first, *rest = row
    cells = "".join(f"<td{NUMBER if cell.is_number else ''}>{escape(cell.text)}</td>" for cell in rest)
    return f'<tr><th scope="row"{NUMBER if first.is_number else ""}>{escape(first.text)}</th>{cells}</tr>'


def _hint(text: str) -> str:
    return f'<p class="hint">{escape(text)}</p>' if text else ""


def steps(found: Iterable[Step], expressions: Iterable[str]) -> SafeString:
    """The working: label, MathML with the numbers filled in, value with unit."""
    return mark_safe("".join(map(_step, found, expressions)))


def _step(step: Step, expression: str) -> str:
    drawn = to_mathml(step.code, step.names, display="inline")
    focus = ' tabindex="0"' if len(expression) > WIDE else ""
    value = escape(with_unit(step.value, step.unit))
    return (
        f'<li><span class="step-label">{escape(step.label)}</span><span class="formula"{focus}>{drawn}</span>'
        f'<span class="step-value">{value}</span></li>'
    )


def with_unit(value: int | float, unit: str) -> str:
    """A step's value for reading: bytes scale themselves, other units follow the number."""
    if unit == "bytes" and abs(value) >= 10**6:
        return f"{number_text(value)} B"
    return reading(float(value), unit) if unit in ("s", "USD") else f"{number_text(value)} {unit}".strip()


def pieces(found: Iterable[Piece]) -> SafeString:
    """Tokens as chips."""
    return mark_safe(
        "".join(
            f'<span class="token {p.css}" data-id="{p.id}" tabindex="0">{escape(p.text)}</span>'
            for p in found
        )
    )
