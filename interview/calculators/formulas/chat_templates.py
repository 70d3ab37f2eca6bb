"""Chat templates rendered by jinja in its sandbox, with what the template wrote told apart from what the user wrote.

The template is rendered twice: with a mark in place of each content, which gives the template's own literals, and as it
is. Laying the first over the second says where each content stands, whether the template trimmed it or not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from jinja2 import Template
from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

# A template may write today's date; a fixed one keeps the count of a link the same.
FIXED_DATE = date(2026, 1, 1)
OPEN, CLOSE = "\ufdd0", "\ufdd1"


class TemplateRefused(ValueError):
    """The template does not take this conversation."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the rendered prompt, written by the template or by a message."""

    text: str
    is_template: bool


def _raise(message: str) -> None:
    raise TemplateRefused(message)


@lru_cache(maxsize=16)
def _compiled(template: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, **k: json.dumps(value, ensure_ascii=False, **k)
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = FIXED_DATE.strftime
    return environment.from_string(template)


def rendered(template: str, messages: Sequence[tuple[str, str]], **given: Any) -> str:
    """The prompt as the template writes it. Raises TemplateRefused with the template's own words."""
    turns = [{"role": role, "content": content} for role, content in messages]
    try:
        return _compiled(template).render(messages=turns, **given)
    except (TemplateError, TypeError, KeyError) as error:
        raise TemplateRefused(str(error)) from error


def parts(template: str, messages: Sequence[tuple[str, str]], **given: Any) -> list[Part]:
    """The rendered prompt cut into the template's words and the messages'. Raises TemplateRefused."""
    whole = rendered(template, messages, **given)
    marks = [(role, f"{OPEN}{n}{CLOSE}") for n, (role, _) in enumerate(messages)]
    literals, order = _skeleton(rendered(template, marks, **given))
    laid = _laid(whole, literals, [messages[n][1] for n in order])
    return laid if laid is not None else [Part(whole, False)]


def _skeleton(marked: str) -> tuple[list[str], list[int]]:
    """The template's literals, and which message stands between each two."""
    first, *rest = marked.split(OPEN)
    literals, order = [first], []
    for piece in rest:
        number, _, literal = piece.partition(CLOSE)
        order.append(int(number))
        literals.append(literal)
    return literals, order


def _laid(whole: str, literals: list[str], contents: list[str]) -> list[Part] | None:
    """The parts of `whole`; None where the template changed a content beyond trimming it."""
    if not whole.startswith(literals[0]):
        return None
    found, at = [Part(literals[0], True)], len(literals[0])
    for content, literal in zip(contents, literals[1:], strict=True):
        forms = (content, content.strip(), content.lstrip("\n"), content.strip("\n"))
        form = next((f for f in forms if whole.startswith(f + literal, at)), None)
        if form is None:
            return None
        found += [Part(form, False), Part(literal, True)]
        at += len(form) + len(literal)
    return [p for p in found if p.text] if at == len(whole) else None
