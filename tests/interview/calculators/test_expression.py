"""Written expressions: exact values, readable text, MathML."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interview.calculators.formulas.expression import evaluate, names_in, to_mathml, to_text


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("a * (b + c)", "2 × (3 + 4)"),
        ("a - (b - c)", "2 − (3 − 4)"),
        ("(a - b) - c", "2 − 3 − 4"),
        ("a / (b * c)", "2 / (3 × 4)"),
        ("ceil(a / b) * c", "⌈2 / 3⌉ × 4"),
        ("(a + b) ** c", "(2 + 3)^4"),
        ("min(a, b)", "min(2, 3)"),
        ("-a * b", "(−2) × 3"),
    ],
)
def test_text_keeps_the_meaning(code: str, text: str) -> None:
    assert to_text(code, {"a": 2, "b": 3, "c": 4}) == text


def test_division_is_exact() -> None:
    assert evaluate("a / 3 * 3", {"a": 10**30 + 1}) == 10**30 + 1
    assert evaluate("a / 8", {"a": 3}) == Fraction(3, 8)


@given(st.integers(1, 10**12), st.integers(1, 10**6))
def test_ceil_is_exact_for_whole_numbers(a: int, b: int) -> None:
    assert evaluate("ceil(a / b)", {"a": a, "b": b}) == -(-a // b)


def test_mathml_names_and_numbers() -> None:
    assert '<mi mathvariant="normal">kv heads</mi>' in to_mathml("2 * kv_heads")
    assert "<mn>8</mn>" in to_mathml("2 * kv_heads", {"kv_heads": 8})
    assert "<mfrac>" in to_mathml("a / b")


def test_an_expression_holds_nothing_but_arithmetic() -> None:
    with pytest.raises((ValueError, KeyError)):
        evaluate("__import__('os')", {})
    assert names_in("a * b + a") == ("a", "b")
