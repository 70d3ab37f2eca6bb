"""Prompt templates: a small, bounded part of jinja's language, so that no template can hang or read what it shouldn't.

Allowed: {{ names }} with a few filters, if, and a loop over the lines of a variable. No calls, no assignment, no nested loops.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST_TEMPLATE, LONGEST_VALUE, LONGEST_OUTPUT = 10_000, 20_000, 20_000
MOST_VARIABLES = 20
FILTERS = (
    "capitalize",
    "default",
    "first",
    "last",
    "length",
    "lines",
    "lower",
    "title",
    "tojson",
    "trim",
    "upper",
)
ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Filter, nodes.If, nodes.For,
    nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr, nodes.Concat, nodes.Test,
    nodes.Getattr,
)  # fmt: skip
TESTS = ("defined", "undefined")
LOOP = ("index", "index0", "first", "last", "length")


class TemplateRefused(Exception):
    """The template can't be used; the message says where and what is allowed."""


@lru_cache(maxsize=1)
def environment() -> ImmutableSandboxedEnvironment:
    """The sandbox: nothing but the filters named above, and an unknown name is an error."""
    sandbox = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    sandbox.filters["lines"] = lambda text: str(text).split("\n")
    sandbox.filters["default"] = lambda value, instead="": instead if value == "" else value
    sandbox.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    sandbox.filters = {name: sandbox.filters[name] for name in FILTERS}
    sandbox.tests = {name: sandbox.tests[name] for name in TESTS}
    sandbox.globals = {}
    return sandbox


def parsed(source: str) -> nodes.Template:
    """The syntax tree. Raises TemplateRefused for a fault or for what isn't allowed."""
    if len(source) > LONGEST_TEMPLATE:
        raise TemplateRefused(f"The template has {len(source)} characters; {LONGEST_TEMPLATE} is the limit.")
    try:
        tree = environment().parse(source)
    except TemplateError as error:
        raise TemplateRefused(f"Line {getattr(error, 'lineno', '?')}: {error}") from error
    except RecursionError:
        raise TemplateRefused("The template is nested too deeply.") from None
    _check(tree)
    return tree


def _check(tree: nodes.Template) -> None:
    for node in tree.find_all(nodes.Node):
        if not isinstance(node, ALLOWED):
            raise TemplateRefused(
                f"Line {node.lineno}: {type(node).__name__.lower()} isn't allowed here. Allowed: names, if, a loop "
                f"over lines, and the filters {', '.join(FILTERS)}."
            )
        if isinstance(node, nodes.Filter):
            _check_filter(node)
        if isinstance(node, nodes.Test) and node.name not in TESTS:
            raise TemplateRefused(f"Line {node.lineno}: no test {node.name}. There are {', '.join(TESTS)}.")
        if isinstance(node, nodes.Getattr) and not _is_loop(node):
            raise TemplateRefused(
                f"Line {node.lineno}: attributes aren't allowed, but for loop.{', loop.'.join(LOOP)}."
            )
        if isinstance(node, nodes.For):
            _check_loop(node)


def _check_filter(node: nodes.Filter) -> None:
    if node.name not in FILTERS:
        raise TemplateRefused(f"Line {node.lineno}: no filter {node.name}. There are {', '.join(FILTERS)}.")
    if node.args and node.name != "default":
        raise TemplateRefused(f"Line {node.lineno}: the filter {node.name} takes nothing in brackets here.")


def _is_loop(node: nodes.Getattr) -> bool:
    return isinstance(node.node, nodes.Name) and node.node.name == "loop" and node.attr in LOOP


def _check_loop(node: nodes.For) -> None:
    over = node.iter
    if node.recursive or not (isinstance(over, nodes.Filter) and over.name == "lines"):
        raise TemplateRefused(
            f"Line {node.lineno}: loop over the lines of a variable: {{% for x in name|lines %}}."
        )
    if any(isinstance(inner, nodes.For) for part in node.body for inner in [part, *part.find_all(nodes.For)]):
        raise TemplateRefused(f"Line {node.lineno}: a loop inside a loop isn't allowed.")


def variables(*sources: str) -> list[str]:
    """Names that the templates ask for, in alphabetical order. Raises TemplateRefused."""
    found = {name for source in sources for name in meta.find_undeclared_variables(parsed(source))}
    if len(found) > MOST_VARIABLES:
        raise TemplateRefused(f"The template has {len(found)} variables; {MOST_VARIABLES} is the limit.")
    return sorted(found)


def rendered(source: str, values: Mapping[str, Any]) -> str:
    """The text, at most LONGEST_OUTPUT characters. Raises TemplateRefused."""
    parsed(source)
    out, length = [], 0
    try:
        for piece in environment().from_string(source).generate(dict(values)):
            length += len(piece)
            if length > LONGEST_OUTPUT:
                raise TemplateRefused(
                    f"The filled-in prompt is over {LONGEST_OUTPUT} characters. Shorten a value."
                )
            out.append(piece)
    except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
        raise TemplateRefused(str(error)) from error
    return "".join(out)
