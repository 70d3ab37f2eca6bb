"""A result as Markdown, for an issue, a chat or notes."""

from __future__ import annotations

from interview.calculators.formulas.parameters import as_text
from interview.calculators.formulas.registry import Outcome
from interview.calculators.formulas.result import Result
from interview.calculators.formulas.units import number_text


def as_markdown(outcome: Outcome, result: Result, expressions: list[str], link: str) -> str:
    """Headline, inputs, working (`expressions`, one a step) and warnings, with the link at the end."""
    lines = [f"**{outcome.calculator.title}: {result.headline}**", ""]
    lines += [f"- {label}: {value}" for label, value in _inputs(outcome)]
    lines += ["", "| step | working | value |", "|---|---|---:|"]
    lines += [
        f"| {s.label} | {_cell(said)} | {number_text(s.value)} {s.unit} |"
        for s, said in zip(result.steps, expressions, strict=True)
    ]
    lines += [f"\n> {warning}" for warning in result.warnings]
    return "\n".join([*lines, "", link, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _inputs(outcome: Outcome) -> list[tuple[str, str]]:
    shown = []
    for parameter in outcome.calculator.parameters:
        value = getattr(outcome.inputs, parameter.name)
        if value is None or (parameter.group and value == parameter.default):
            continue
        text = as_text(value).replace("\n", " ⏎ ")
        shown.append((parameter.label, f"{text[:200]} {parameter.unit}".strip()))
    return shown
