"""The numbers of a picture as a table, and table cells as text."""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.result import Chart, Table, Value
from interview.calculators.formulas.units import number_text
from interview.calculators.scales import reading, whole


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, and whether it is a number (set to the right)."""

    text: str
    is_number: bool


def cells(rows: tuple[tuple[Value, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    """Rows ready to be shown; a column is set to the right when everything in it is a number."""
    columns = list(zip(*rows, strict=True))
    numeric = [all(not isinstance(v, str) or _looks_numeric(v) for v in column) for column in columns]
    return tuple(tuple(Cell(_shown(v), n) for v, n in zip(row, numeric, strict=True)) for row in rows)


def _shown(value: Value) -> str:
    return (
        value if isinstance(value, str) else number_text(whole(value) if isinstance(value, float) else value)
    )


def _looks_numeric(text: str) -> bool:
    return not text or (text.lstrip("−$")[:1].isdigit() and len(text) < 40)


def of_chart(chart: Chart) -> Table:
    """The same numbers as the picture, every one of them."""
    if chart.kind == "timeline":
        rows = tuple((chart.lanes[s.lane], s.label, s.start, s.end) for s in chart.spans)
        return Table(chart.title, ("lane", "what", f"from ({chart.x_label})", f"to ({chart.x_label})"), rows)
    if chart.kind == "bars":
        return _bars(chart)
    if chart.kind == "heat":
        heat: tuple[tuple[Value, ...], ...] = tuple(
            (s.label, *(p[1] for p in s.points)) for s in chart.series
        )
        return Table(chart.title, (chart.y_label, *chart.labels), heat)
    return _curves(chart)


def _bars(chart: Chart) -> Table:
    unit = f" ({chart.y_unit})" if chart.y_unit else ""
    columns = (chart.x_label, *(f"{s.label}{unit}" for s in chart.series))
    rows = tuple(
        (label, *(reading(s.points[i][1], chart.y_unit) for s in chart.series))
        for i, label in enumerate(chart.labels)
    )
    return Table(chart.title, columns, rows)


def _curves(chart: Chart) -> Table:
    xs = sorted({x for s in chart.series for x, _ in s.points})
    known = [dict(s.points) for s in chart.series]
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (x, *(reading(k[x], chart.y_unit) if x in k else "" for k in known)) for x in xs
    )
    return Table(chart.title, (chart.x_label, *(s.label for s in chart.series)), rows)
