"""Every calculator as a tool: the same formula, parameter names and errors as its page."""

from __future__ import annotations

from functools import partial
from typing import Any

from interview.accounts.models import User
from interview.calculators.formulas.calculator import Calculator
from interview.calculators.formulas.parameters import Parameter
from interview.calculators.formulas.registry import CALCULATORS, run
from interview.tools.registry import Tool, ToolRefused, register


def calculate(calculator: Calculator, user: User, arguments: dict[str, Any]) -> dict[str, Any]:
    """The results by name. Raises ToolRefused with what is wrong and what is allowed."""
    outcome = run(calculator, {name: str(value) for name, value in arguments.items()})
    if outcome.result is None:
        raise ToolRefused("; ".join(f"{error.name}: {error.message}" for error in outcome.errors))
    return dict(outcome.result.results)


def parameter(one: Parameter) -> dict[str, Any]:
    """A parameter as a schema; the formula itself checks the value again."""
    if one.choices:
        return {"enum": [value for value, _ in one.choices]}
    if one.kind in ("whole", "integer", "int", "count"):
        return {"type": "integer"}
    return {"type": ["number", "string"], "maxLength": 80}


def tool_of(calculator: Calculator) -> Tool:
    """One calculator's tool."""
    return Tool(
        name=f"calculate_{calculator.slug.replace('-', '_')}",
        title=f"Calculator: {calculator.title}",
        description=calculator.summary,
        parameters={
            "type": "object",
            "properties": {one.name: parameter(one) for one in calculator.parameters},
            "additionalProperties": False,
        },
        run=partial(calculate, calculator),
    )


for _calculator in CALCULATORS.values():
    register(tool_of(_calculator))
