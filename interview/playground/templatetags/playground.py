"""Template tags of the playground: `{% load playground %}`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from interview.playground.trials.statistics import Interval
from interview.runs.models import Run
from interview.ui.templatetags.ui import plevel

register = template.Library()
EDGE = re.compile(r"^ +|\n|\t")
END = "∎"


@register.simple_tag
def token_links(run: Run, at: str, picked: int | None = None) -> SafeString:
    """The generated tokens, each a link on `at` to what stood beside it; only the first can be reached by tab."""
    rows = (run.output or {}).get("per_token", [])
    here = picked or 0
    return mark_safe("".join(_link(at, row, here, row[0] == picked) for row in rows))


def _link(at: str, row: Sequence[Any], here: int, picked: bool) -> str:
    index, token_id, text, logprob = row[:4]
    probability = math.exp(logprob) if logprob is not None else None
    return format_html(
        '<a class="token plain-link t{} {}{}" href="{}&amp;token={}"{} tabindex="{}" data-id="{}"{}>{}</a>',
        index % 6 + 1,
        plevel(probability),
        " is-picked" if picked else "",
        at,
        index,
        mark_safe(' aria-current="true"') if picked else "",
        "0" if index == here else "-1",
        token_id,
        format_html(' data-p="{}"', f"{probability:.3f}") if probability is not None else "",
        visible(text or END),
    )


@register.filter
def visible(text: str) -> SafeString:
    """A token's text with its leading spaces, tabs and line ends to be seen."""
    return mark_safe(EDGE.sub(_mark, escape(text)))


def _mark(match: re.Match[str]) -> str:
    found = match.group()
    if found == "\n":
        return '<span class="space">⏎</span>\n'
    return f'<span class="space">{"⇥" if found == chr(9) else "·" * len(found)}</span>'


@register.filter
def prompt_chips(tokens: list[list[Any]] | None) -> SafeString:
    """The prompt's tokens [id, text, is special] as chips; those of the template stand out."""
    chips = (
        format_html(
            '<span class="token {}" data-id="{}">{}</span>',
            "is-special" if special else f"t{place % 6 + 1}",
            token_id,
            visible(text),
        )
        for place, (token_id, text, special) in enumerate(tokens or [])
    )
    return mark_safe("".join(chips))


@register.filter
def text_chips(tokens: list[list[Any]] | None, appended: list[int] | None = None) -> SafeString:
    """A text's tokens [id, text, is special, …]; the last ones, as many as were appended, are framed."""
    rows = tokens or []
    start = len(rows) - len(appended or [])
    chips = (
        format_html(
            '<span class="token {}{}" data-id="{}">{}</span>',
            "is-special" if row[2] else f"t{place % 6 + 1}",
            " is-picked" if place >= start else "",
            row[0],
            visible(row[1]),
        )
        for place, row in enumerate(rows)
    )
    return mark_safe("".join(chips))


@register.filter
def interval(found: Interval, way: str = "") -> str:
    """A share with its 95% interval: 40.0 % [21.9, 61.3]."""
    sign = "+" if way == "signed" else ""
    return f"{100 * found.value:{sign}.1f}\u00a0% [{100 * found.low:{sign}.1f}, {100 * found.high:{sign}.1f}]"
