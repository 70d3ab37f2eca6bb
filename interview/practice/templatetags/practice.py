"""Template tags of practice: `{% load practice %}`."""

from __future__ import annotations

from django import template

from interview.questions.topic_links import playground_url

register = template.Library()


@register.filter
def minutes(seconds: int | None) -> str:
    """`{{ 245|minutes }}` → 4 min 5 s."""
    if seconds is None:
        return ""
    whole, rest = divmod(int(seconds), 60)
    if not whole:
        return f"{rest} s"
    return f"{whole} min {rest} s" if rest else f"{whole} min"


@register.filter
def playground(page: str) -> str:
    """`{{ link.page|playground }}` → its address, or nothing while that page doesn't exist."""
    return playground_url(page)
