"""Template tags for runs: `{% load runs %}`."""

from __future__ import annotations

import math
import re
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from interview.runs.kinds import kind_of
from interview.runs.models import Run
from interview.ui.templatetags.ui import plevel

register = template.Library()
EDGE = re.compile(r"^ +|\n")


@register.filter
def kind_title(run: Run) -> str:
    """What sort of run it is, in words."""
    try:
        return kind_of(run).title
    except KeyError:
        return run.kind


@register.filter
def kind_page(run: Run) -> str:
    """The address of the page that shows this run, empty where its kind has none."""
    try:
        page = kind_of(run).page
    except KeyError:
        return ""
    return f"{reverse(page)}?run={run.pk}" if page else ""


@register.filter
def token_chips(per_token: list[list[Any]] | None) -> SafeString:
    """`per_token` rows [index, id, text, logprob, at_ms] as chips; run.js makes the same ones live."""
    return mark_safe("".join(chip(*row[:4]) for row in per_token or [] if row[2]))


def chip(index: int, token_id: int, text: str, logprob: float | None) -> str:
    """One token: visible spaces and line ends, its id and probability on hover and on focus.

    Only the first can be reached by tab; arrow keys go from token to token (run.js).
    """
    probability = math.exp(logprob) if logprob is not None else None
    return format_html(
        '<span class="token plain t{} {}" tabindex="{}" data-id="{}"{}>{}</span>',
        index % 6 + 1,
        plevel(probability),
        "-1" if index else "0",
        token_id,
        format_html(' data-p="{}"', f"{probability:.3f}") if probability is not None else "",
        mark_safe(EDGE.sub(_visible, escape(text))),
    )


def _visible(match: re.Match[str]) -> str:
    if match.group() == "\n":
        return '<span class="space">⏎</span>\n'
    return f'<span class="space">{"·" * len(match.group())}</span>'
