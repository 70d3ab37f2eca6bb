"""Every calculator by slug: words, inputs, formula. Page, JSON, command line and link all start here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import log10
from typing import Any
from urllib.parse import parse_qsl

from interview.calculators.formulas import (
    attention_about,
    batching,
    bpe,
    context_budget_about,
    cost_about,
    kv_about,
    latency_about,
    loss,
    parameter_count,
    positions,
    sampling,
    selection_about,
    speculative,
    tokens_about,
)
from interview.calculators.formulas.calculator import Calculator
from interview.calculators.formulas.parameters import (
    FieldError,
    InputErrors,
    canonical_query,
    flatten,
    parse,
    visible,
)
from interview.calculators.formulas.result import Result

TOO_FAR = "is too large or too small to compute with, beside the other numbers: choose one nearer to 1"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request to a calculator: the inputs and result, or the errors, and what was typed either way.

    `query` is the canonical one; empty where the input was refused.
    """

    calculator: Calculator
    typed: dict[str, str]
    inputs: Any = None
    result: Result | None = None
    errors: tuple[FieldError, ...] = field(default=())
    query: str = ""

    def to_dict(self, url: str) -> dict[str, Any]:
        """The JSON contract. Only for an outcome with a result."""
        assert self.result is not None
        return {
            "calculator": self.calculator.slug,
            "inputs": asdict(self.inputs),
            "results": self.result.results,
            "steps": [step.to_dict() for step in self.result.steps],
            "warnings": list(self.result.warnings),
            "tables": [asdict(table) for table in self.result.every_table()],
            "url": url,
        }


MODULES = (
    tokens_about,
    kv_about,
    context_budget_about,
    attention_about,
    parameter_count,
    sampling,
    loss,
    latency_about,
    cost_about,
    bpe,
    positions,
    batching,
    speculative,
    selection_about,
)
CALCULATORS: dict[str, Calculator] = {m.CALCULATOR.slug: m.CALCULATOR for m in MODULES}


class UnknownCalculator(KeyError):
    """No calculator has this slug."""


def find(slug: str) -> Calculator:
    """The calculator of this slug. Raises UnknownCalculator."""
    if slug not in CALCULATORS:
        raise UnknownCalculator(f"no calculator is called {slug!r}; there are {', '.join(CALCULATORS)}")
    return CALCULATORS[slug]


def run(calculator: Calculator, given: Mapping[str, Any], *, at_once: bool = False) -> Outcome:
    """Read, check and compute. Never raises for bad input: the outcome holds the errors.

    `at_once` leaves out what takes seconds the first time, and the result names it.
    """
    typed, twice = flatten(given)
    try:
        if twice:
            raise InputErrors(*twice)
        inputs: Any = parse(calculator.inputs, calculator.prepare(typed))
        compute = calculator.at_once if at_once and calculator.at_once else calculator.compute
        result = _computed(compute, inputs)
        return Outcome(calculator, typed, inputs, result, query=canonical_query(inputs))
    except InputErrors as wrong:
        return Outcome(calculator, typed, errors=wrong.errors)


def _computed(compute: Callable[[Any], Result], inputs: Any) -> Result:
    """The result. Raises InputErrors for a value so large or small that the arithmetic does not hold it."""
    try:
        result: Result | None = compute(inputs)
    except ArithmeticError:
        result = None
    if result is None or not result.is_finite:
        raise InputErrors(*(FieldError(name, TOO_FAR) for name in _extreme(inputs)))
    return result


def _extreme(inputs: Any) -> list[str]:
    """The number furthest from 1, by powers of ten; the form where there is no number but 0."""
    sizes = {f.name: abs(v) for f in fields(inputs) if isinstance(v := getattr(inputs, f.name), int | float)}
    powers = {name: abs(log10(size)) for name, size in sizes.items() if size}
    return [max(powers, key=lambda name: powers[name])] if powers else ["form"]


def run_query(calculator: Calculator, query: str) -> Outcome:
    """The same for a query string, as it stands in an address after the question mark."""
    given: dict[str, str] = {}
    twice: list[FieldError] = []
    for name, value in parse_qsl(query, keep_blank_values=True):
        if given.get(name, value) != value:
            twice.append(FieldError(visible(name), "is given more than once: give it once"))
        given[name] = value
    return Outcome(calculator, given, errors=tuple(twice)) if twice else run(calculator, given)
