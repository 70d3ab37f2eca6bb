"""Pictures of practice as SVG; the page sets a table of the same numbers beside each."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString, mark_safe

from interview.practice.review_selectors import Ahead

WIDTH, HEIGHT, FLOOR, TOP = 560, 150, 120, 20


def forecast_chart(ahead: Sequence[Ahead]) -> SafeString:
    """One bar a day; today's is marked, and every bar that stands carries its number."""
    step = WIDTH / len(ahead)
    most = max(day.count for day in ahead) or 1
    parts = []
    for index, day in enumerate(ahead):
        height = (FLOOR - TOP) * day.count / most
        x = index * step + step * 0.15
        now = " is-now" if index == 0 else ""
        if day.count:
            parts.append(
                f'<rect class="bar{now}" x="{x:.1f}" y="{FLOOR - height:.1f}" '
                f'width="{step * 0.7:.1f}" height="{height:.1f}"/>'
                f'<text class="label" x="{x + step * 0.35:.1f}" y="{FLOOR - height - 5:.1f}" text-anchor="middle">{day.count}</text>'
            )
        if index % 2 == 0:
            name = "today" if index == 0 else f"{day.day:%a} {day.day.day}"
            parts.append(f'<text class="label" x="{x:.1f}" y="{HEIGHT - 8}">{name}</text>')
    body = "".join(parts)
    return mark_safe(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="forecast">'
        f'<line class="axis" x1="0" x2="{WIDTH}" y1="{FLOOR}" y2="{FLOOR}"/>{body}</svg>'
    )
