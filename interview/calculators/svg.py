"""Pictures as SVG made on the server: classes only, so they follow the theme; widths in %, so text keeps its size."""

from __future__ import annotations

from html import escape

from interview.calculators.formulas.result import Chart, Series
from interview.calculators.formulas.units import number_text
from interview.calculators.scales import Scale, reading, scale, whole

HEIGHT = 190
TOP = 22
ROW = 44
LINES = ("line", "line-2", "line-3", "line")


def svg(chart: Chart, number: int) -> str:
    """The picture of `chart`; `number` makes ids unique on the page."""
    drawers = {"line": _lines, "bars": _bars, "timeline": _timeline, "heat": _heat}
    height, body = drawers[chart.kind](chart)
    title = f'<title id="chart-{number}">{escape(description(chart))}</title>'
    return (
        f'<svg class="chart" width="100%" height="{height}" role="img" aria-labelledby="chart-{number}">'
        f"{title}{body}</svg>"
    )


def description(chart: Chart) -> str:
    """What the picture shows, for a reader who cannot see it."""
    parts = [f"{chart.title}."]
    for series in chart.series[:6]:
        if chart.kind == "bars":
            names = zip(chart.labels, series.points, strict=False)
            parts += [f"{name}: {reading(p[1], chart.y_unit)}." for name, p in names]
        elif series.points:
            (x0, y0), (x1, y1) = series.points[0], series.points[-1]
            start = f"{reading(y0, chart.y_unit)} at {number_text(whole(x0))}"
            end = f"{reading(y1, chart.y_unit)} at {number_text(whole(x1))} {chart.x_label}"
            parts.append(f"{series.label}: {start}, {end}.")
    return " ".join(parts)[:1500]


def _pct(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _lines(chart: Chart) -> tuple[int, str]:
    points = [p for s in chart.series for p in s.points]
    left, right = min(p[0] for p in points), max(p[0] for p in points)
    left = min(left, 0.0) if left > 0 and left <= right / 10 else left
    axis = scale(max(p[1] for p in points), chart.y_unit)
    body = [_grid(axis), _axis_line()]
    body += [_curve(s, LINES[i % 4], left, right, axis) for i, s in enumerate(chart.series)]
    body += _end_labels(chart, axis)
    body += _now(chart, left, right, axis)
    body += _x_labels(chart, left, right)
    return TOP + HEIGHT + 24, "".join(body)


def _grid(axis: Scale) -> str:
    drawn = []
    for i, tick in enumerate(axis.ticks()):
        y = _y(tick, axis)
        unit = f" {axis.unit}" if i == len(axis.ticks()) - 1 else ""
        drawn.append(f'<line class="grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>')
        text = f"{axis.label(tick)}{escape(unit)}"
        drawn.append(f'<text x="0" y="{_pct(float(y) - 4)}">{text}</text>')
    return "".join(drawn)


def _axis_line() -> str:
    return f'<line class="axis" x1="0" x2="100%" y1="{TOP + HEIGHT}" y2="{TOP + HEIGHT}"/>'


def _y(value: float, axis: Scale) -> str:
    return _pct(TOP + HEIGHT * (1 - value / axis.top))


def _x(value: float, left: float, right: float) -> float:
    return 100 * (value - left) / (right - left) if right > left else 50.0


def _curve(series: Series, css: str, left: float, right: float, axis: Scale) -> str:
    path = " L".join(
        f"{_pct(_x(x, left, right))} {_pct(100 * (1 - max(y, 0.0) / axis.top))}" for x, y in series.points
    )
    return (
        f'<svg x="0" y="{TOP}" width="100%" height="{HEIGHT}" viewBox="0 0 100 100" preserveAspectRatio="none" '
        f'overflow="visible"><path class="{css}" vector-effect="non-scaling-stroke" d="M{path}"/></svg>'
    )


def _end_labels(chart: Chart, axis: Scale) -> list[str]:
    """The name of each curve at its right end, kept apart where curves meet."""
    if len(chart.series) < 2:
        return []
    ends = sorted((float(_y(s.points[-1][1], axis)), s.label) for s in chart.series)
    places: list[float] = []
    for y, _ in ends:
        places.append(max(y - 6, places[-1] + 15 if places else 10))
    lowest = float(TOP + HEIGHT - 5)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], lowest)
        lowest = places[i] - 15
    return [
        f'<text x="100%" y="{_pct(place)}" text-anchor="end">{escape(label)}</text>'
        for place, (_, label) in zip(places, ends, strict=True)
    ]


def _now(chart: Chart, left: float, right: float, axis: Scale) -> list[str]:
    if chart.now is None or not chart.series:
        return []
    value = dict(chart.series[0].points).get(chart.now)
    if value is None:
        return []
    x, y = _pct(_x(chart.now, left, right)), _y(value, axis)
    side = ("end", -6) if float(x) > 42 else ("start", 8)
    return [
        f'<line class="now" x1="{x}%" x2="{x}%" y1="{TOP + HEIGHT}" y2="{y}"/>',
        f'<circle class="now" cx="{x}%" cy="{y}" r="5"/>',
        f'<text font-weight="600" x="{x}%" dx="{side[1]}" y="{y}" dy="-9" text-anchor="{side[0]}">'
        f"{escape(reading(value, chart.y_unit))}</text>",
    ]


def _x_labels(chart: Chart, left: float, right: float) -> list[str]:
    y = TOP + HEIGHT + 17
    drawn = [
        f'<text x="0" y="{y}">{number_text(whole(left))}</text>',
        f'<text x="100%" y="{y}" text-anchor="end">'
        f"{number_text(whole(right))} {escape(chart.x_label)}</text>",
    ]
    if chart.now is not None and 15 < _x(chart.now, left, right) < 60:
        x = _pct(_x(chart.now, left, right))
        text = number_text(whole(chart.now))
        drawn.append(f'<text x="{x}%" y="{y}" text-anchor="middle">{text}</text>')
    return drawn


def _bars(chart: Chart) -> tuple[int, str]:
    """Horizontal bars, the name above each; several series stand under one another."""
    highest = max((abs(p[1]) for s in chart.series for p in s.points), default=0) or 1.0
    drawn, y = [], 0
    for i, label in enumerate(chart.labels):
        drawn.append(f'<text x="0" y="{y + 14}">{escape(label)}</text>')
        y += 20
        for n, series in enumerate(chart.series):
            drawn.append(_bar(chart, series, i, n, y, highest))
            y += 18
        y += 6
    return max(y, 10), "".join(drawn)


def _bar(chart: Chart, series: Series, i: int, n: int, y: int, highest: float) -> str:
    value = series.points[i][1]
    width = _pct(max(0.25, 50 * abs(value) / highest))
    now = (chart.shown == i) if chart.shown is not None else n == 0
    name = f"{series.label}: " if len(chart.series) > 1 else ""
    text = escape(f"{name}{reading(value, chart.y_unit)}")
    css = "bar is-now" if now else "bar"
    return (
        f'<rect class="{css}" x="0" y="{y}" width="{width}%" height="12" rx="2"/>'
        f'<text x="{width}%" dx="6" y="{y + 10}">{text}</text>'
    )


def _timeline(chart: Chart) -> tuple[int, str]:
    """One row a lane, time to the right."""
    end = max((s.end for s in chart.spans), default=1.0) or 1.0
    drawn = []
    for lane, name in enumerate(chart.lanes):
        y = lane * 24
        drawn.append(f'<line class="grid" x1="0" x2="100%" y1="{y + 23}" y2="{y + 23}"/>')
        drawn.append(f'<text x="0" y="{y + 15}">{escape(name)}</text>')
    for span in chart.spans:
        x, width = 12 + 88 * span.start / end, max(0.15, 88 * (span.end - span.start) / end - 0.1)
        css = "bar is-now" if span.kind == "now" else span.kind
        drawn.append(
            f'<rect class="{css}" x="{_pct(x)}%" y="{span.lane * 24 + 4}" width="{_pct(width)}%" height="15" '
            f'rx="2"><title>{escape(span.label)}</title></rect>'
        )
    height = len(chart.lanes) * 24
    drawn.append(f'<text x="12%" y="{height + 16}">0</text>')
    text = escape(f"{number_text(end, 4)} {chart.x_label}")
    drawn.append(f'<text x="100%" y="{height + 16}" text-anchor="end">{text}</text>')
    return height + 22, "".join(drawn)


def _heat(chart: Chart) -> tuple[int, str]:
    """A grid of cells; the darker, the larger: one series a row, points left to right, 0 to 1."""
    drawn = []
    columns = max((len(s.points) for s in chart.series), default=1) or 1
    for row, series in enumerate(chart.series):
        y = row * 26
        drawn.append(f'<text x="0" y="{y + 17}">{escape(series.label)}</text>')
        for column, (_, value) in enumerate(series.points):
            x, width = 18 + 82 * column / columns, 82 / columns
            drawn.append(
                f'<rect class="cell" x="{_pct(x)}%" y="{y + 2}" width="{_pct(width * 0.94)}%" height="22" '
                f'fill-opacity="{_pct(min(1.0, max(0.03, value)))}"><title>{number_text(value, 4)}</title></rect>'
            )
    y = len(chart.series) * 26 + 16
    for column, label in enumerate(chart.labels):
        middle = _pct(18 + 82 * (column + 0.47) / columns)
        drawn.append(f'<text x="{middle}%" y="{y}" text-anchor="middle">{escape(label)}</text>')
    return y + 8, "".join(drawn)
