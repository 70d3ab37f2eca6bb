"""Tags of the teaching room: `{% load teaching %}`."""

from __future__ import annotations

from decimal import Decimal

from django import template

register = template.Library()


@register.filter
def points(value: Decimal | float | None) -> str:
    """Points without needless zeros: 1.50 → 1.5, 2.00 → 2; at most two decimals."""
    if value is None:
        return "–"
    text = f"{Decimal(str(value)):.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
