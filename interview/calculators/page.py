"""Everything a calculator's page shows, worked out once from an outcome."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from interview.calculators import comparison, fields, markup, svg, tables
from interview.calculators.formulas.expression import to_mathml, to_text
from interview.calculators.formulas.models import models
from interview.calculators.formulas.parameters import Parameter, as_text
from interview.calculators.formulas.registry import Outcome
from interview.calculators.formulas.result import Chart, Result
from interview.calculators.formulas.units import number_text
from interview.calculators.markdown import as_markdown
from interview.calculators.services import LONGEST_KEPT

LONGEST_QUERY = 1500


@dataclass(frozen=True, slots=True)
class ShownChart:
    """A picture, its caption and its table."""

    drawing: SafeString
    title: str
    note: str
    numbers: markup.ShownTable


@cache
def path_of(slug: str) -> str:
    """A calculator's address; every page asks a dozen times."""
    return reverse("calculators:show", args=[slug])


@cache
def share_path() -> str:
    """Where short links are made."""
    return reverse("calculators:share")


def kept_query(outcome: Outcome) -> str:
    """The query for the form that keeps it; one too long to be kept is cut, and refused for its length."""
    return outcome.query[: LONGEST_KEPT + 1]


def context(outcome: Outcome, link: str) -> dict[str, Any]:
    """What `calculators/page.html` and its parts need."""
    form = [fields.field_of(p, outcome) for p in outcome.calculator.parameters]
    shown: dict[str, Any] = {
        "calculator": outcome.calculator,
        "outcome": outcome,
        "fields": form,
        "main_fields": fields.main_fields(form),
        "groups": fields.groups(form),
        "path": path_of(outcome.calculator.slug),
        "share_path": share_path(),
        "kept_query": kept_query(outcome),
        "loose_errors": fields.loose_errors(outcome),
        "link": link,
        "frame": _frame(outcome, link),
        "is_long": len(outcome.query) > LONGEST_QUERY,
    }
    shown |= _formula(outcome)
    return shown | (_reading(outcome, outcome.result, link) if outcome.result else {})


def _frame(outcome: Outcome, link: str) -> str:
    """The markup that shows this calculation in another page's frame."""
    address = f"{link}{'&' if '?' in link else '?'}embed=1"
    title = f"Prefill: {outcome.calculator.title}"
    return format_html(
        '<iframe src="{}" title="{}" width="100%" height="720" loading="lazy"></iframe>', address, title
    )


def _drawn(chart: Chart, number: int) -> ShownChart:
    numbers = markup.table(chart.table or tables.of_chart(chart))
    return ShownChart(mark_safe(svg.svg(chart, number)), chart.title, chart.note, numbers)


def comparison_context(outcome: Outcome, others: list[Outcome]) -> dict[str, Any]:
    """Pinned configurations and their picture, drawn."""
    shown = comparison.context(outcome, others)
    if "comparison" in shown:
        shown["comparison"] = _drawn(shown["comparison"], 99)
    return shown


def _formula(outcome: Outcome) -> dict[str, Any]:
    """The formula in names, and in one line with the numbers filled in where the result has it so."""
    name = outcome.calculator.formula_name
    code = (outcome.result.formula if outcome.result else "") or outcome.calculator.formula
    shown = {"formula": mark_safe(to_mathml(code, result=name)), "formula_text": f"{name} = {to_text(code)}"}
    if outcome.result and outcome.result.formula:
        filled = to_mathml(code, outcome.result.formula_names, result=name)
        shown["filled"] = mark_safe(filled)
    return shown


def _reading(outcome: Outcome, result: Result, link: str) -> dict[str, Any]:
    expressions = [step.expression for step in result.steps]
    return {
        "result": result,
        "steps": markup.steps(result.steps, expressions),
        "charts": [_drawn(chart, i) for i, chart in enumerate(result.charts)],
        "tables": [markup.table(t) for t in result.tables],
        "pieces": markup.pieces(result.pieces),
        "beside": markup.pieces(result.beside),
        "markdown": as_markdown(outcome, result, expressions, link),
        "title": title(outcome),
        "brief": brief(outcome),
    }


def title(outcome: Outcome) -> str:
    """`KV cache: 19.327 GB (18.0 GiB)`: the page's title and the preview card's."""
    name = outcome.calculator.title
    return f"{name}: {outcome.result.headline}" if outcome.result else name


def brief(outcome: Outcome) -> str:
    """The inputs in one line: what always shows, and whatever was changed."""
    if not outcome.result:
        return outcome.calculator.summary
    parts = []
    for parameter in outcome.calculator.parameters:
        value = getattr(outcome.inputs, parameter.name)
        if parameter.kind != "text" and (not parameter.group or value != parameter.default):
            parts.append(_said(parameter, value))
    return " · ".join(p for p in parts if p)[:300]


def _said(parameter: Parameter, value: Any) -> str:
    if value is None or (value == parameter.default and parameter.low == 0 == value):
        return ""
    if parameter.kind == "flag":
        return parameter.label if value else ""
    if parameter.kind in ("choice", "model"):
        known = models().get(value)
        return known.name if known else dict(parameter.choices).get(value, as_text(value)).partition(",")[0]
    noun = parameter.unit or parameter.label.lower()
    return f"{number_text(value)} {noun.removesuffix('s') if value == 1 else noun}"
