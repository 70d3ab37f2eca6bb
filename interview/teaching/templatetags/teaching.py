"""Tags of the teaching room: `{% load teaching %}`."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from interview.teaching.dates import in_words

register = template.Library()


@register.filter
def points(value: Decimal | float | None) -> str:
    """Points without needless zeros: 1.50 → 1.5, 2.00 → 2; at most two decimals."""
    if value is None:
        return "–"
    text = f"{Decimal(str(value)):.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@register.simple_tag
def when(at: datetime | None, zone: str = "") -> SafeString:
    """A moment in the class's zone, with the reader's own time beside it where the two differ."""
    if at is None:
        return mark_safe("")
    own = timezone.localtime(at)
    there = at.astimezone(ZoneInfo(zone)) if zone else own
    text = f"{there:%a} {there.day} {there:%b %Y, %H:%M %Z}"
    if there.utcoffset() != own.utcoffset():
        text += f" ({own:%a} {own.day} {own:%b, %H:%M} your time)"
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), text)


@register.filter
def span(value: timedelta) -> str:
    """A span of time in words."""
    return in_words(value)


@register.filter
def state_class(share: float | None) -> str:
    """The class that colours a share of the points."""
    if share is None:
        return "is-none"
    return "is-met" if share >= 0.8 else "is-partial" if share >= 0.4 else "is-contradicted"
