"""What holds for each calculator: presets work, no input crashes it, the working adds up."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interview.calculators import page
from interview.calculators.formulas.calculator import Calculator
from interview.calculators.formulas.expression import evaluate
from interview.calculators.formulas.registry import CALCULATORS, Outcome, run
from tests.interview.calculators.strategies import HOSTILE, extremes, hostile_query

ALL = pytest.mark.parametrize("calculator", CALCULATORS.values(), ids=list(CALCULATORS))


def outcomes(calculator: Calculator) -> list[Outcome]:
    """The default and every preset."""
    return [run(calculator, QueryDict(q)) for q in ("", *(p.query for p in calculator.presets))]


@ALL
def test_the_default_and_every_preset_compute(calculator: Calculator) -> None:
    for outcome in outcomes(calculator):
        assert not outcome.errors, (outcome.typed, outcome.errors)
        assert outcome.result and outcome.result.results and outcome.result.steps
        json.dumps(outcome.to_dict("x"), allow_nan=False)


@ALL
def test_each_step_is_its_expression(calculator: Calculator) -> None:
    for outcome in outcomes(calculator):
        assert outcome.result
        for step in outcome.result.steps:
            assert float(evaluate(step.code, step.names)) == float(step.value)
            assert step.expression and step.unit


@ALL
def test_the_python_program_prints_the_same_number(calculator: Calculator) -> None:
    for outcome in outcomes(calculator):
        assert outcome.result
        done = subprocess.run(
            [sys.executable, "-I", "-c", outcome.result.program], capture_output=True, text=True, check=True
        )
        answers = [float(v) for v in outcome.result.results.values() if isinstance(v, int | float)]
        printed = float(done.stdout)
        assert any(math.isclose(printed, a, rel_tol=1e-9, abs_tol=1e-12) for a in answers), (printed, answers)


@ALL
def test_hostile_values_in_each_field_alone(calculator: Calculator) -> None:
    for parameter in calculator.parameters:
        for value in HOSTILE:
            outcome = run(calculator, {parameter.name: value})
            assert bool(outcome.result) != bool(outcome.errors)
            assert all(len(e.message) < 1500 for e in outcome.errors)


@ALL
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_mixture_of_values_crashes(calculator: Calculator, data: st.DataObject) -> None:
    outcome = run(calculator, data.draw(hostile_query(calculator)))
    assert bool(outcome.result) != bool(outcome.errors)
    if outcome.result:
        json.dumps(outcome.to_dict(""), allow_nan=False)
        assert run(calculator, QueryDict(outcome.query)).inputs == outcome.inputs


@ALL
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_extremes_of_the_real_fields_compute_or_are_named(
    calculator: Calculator, data: st.DataObject
) -> None:
    outcome = run(calculator, data.draw(extremes(calculator)))
    known = {p.name for p in calculator.parameters}
    assert bool(outcome.result) != bool(outcome.errors)
    assert {e.name for e in outcome.errors} <= known
    assert page.context(outcome, "/x/")
    if outcome.result:
        json.dumps(outcome.to_dict(""), allow_nan=False)
