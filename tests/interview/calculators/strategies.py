"""Hypothesis strategies built from a calculator's own parameters, good and hostile."""

from __future__ import annotations

from hypothesis import strategies as st

from interview.calculators.formulas.calculator import Calculator
from interview.calculators.formulas.models import models
from interview.calculators.formulas.parameters import Parameter

HOSTILE = (
    "",
    " ",
    "\u200b\u200b",
    "<script>alert(1)</script>",
    "\x00",
    "\ud800",
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "-1",
    "0",
    "9" * 400,
    "x" * 100_000,
    "٣",
    "１２８",
    "128k",
    "1,5",
    "{}",
    "🙂",
    "' OR 1=1 --",
    "../../etc/passwd",
)


def good_value(parameter: Parameter, most: int = 10**6) -> st.SearchStrategy[str]:
    """A value the parameter accepts by itself."""
    if parameter.kind == "whole":
        return st.integers(int(parameter.low), min(int(parameter.high), most)).map(str)
    if parameter.kind == "real":
        return st.floats(parameter.low, min(parameter.high, most), allow_nan=False).map(repr)
    if parameter.kind == "choice":
        return st.sampled_from([name for name, _ in parameter.choices])
    if parameter.kind == "flag":
        return st.sampled_from(["0", "1"])
    if parameter.kind == "model":
        return st.sampled_from(sorted(models()))
    return st.text(max_size=200)


def extremes(calculator: Calculator) -> st.SearchStrategy[dict[str, str]]:
    """Real fields at and near the ends of their ranges, in any mixture."""
    values = {p.name: st.sampled_from(_ends(p)) for p in calculator.parameters if p.kind == "real"}
    return st.fixed_dictionaries({}, optional=values)


def _ends(parameter: Parameter) -> list[str]:
    """Ends of the range, and what lies next to zero: the smallest number, a subnormal, a tiny one."""
    near = (0.0, 5e-324, 1e-320, 1e-300, 1e-30, 1e-9, 1.0, -1e-9, -5e-324)
    wanted = (parameter.low, parameter.high, *near)
    return [repr(float(v)) for v in wanted if parameter.low <= v <= parameter.high]


def hostile_query(calculator: Calculator) -> st.SearchStrategy[dict[str, str]]:
    """Any mixture of hostile and good values under known and unknown names."""
    values = {
        p.name: st.one_of(st.sampled_from(HOSTILE), good_value(p), st.text(max_size=40))
        for p in calculator.parameters
    }
    return st.fixed_dictionaries({}, optional={**values, "colour": st.just("red")})
