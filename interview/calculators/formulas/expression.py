"""One written expression, used three ways: evaluated exactly, shown as text and shown as MathML.

A calculator writes each step once, as a Python expression over named quantities, so what the reader sees
and what was computed can never drift apart.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from html import escape

from interview.calculators.formulas.units import number_text

Number = int | float | Fraction

FUNCTIONS: dict[str, Callable[..., Number]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
}
MATHML = "http://www.w3.org/1998/Math/MathML"
Names = Mapping[str, Number] | None
_SIGNS = {ast.Add: "+", ast.Sub: "−", ast.Mult: "×", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "^"}
_STRENGTH = {ast.Add: 1, ast.Sub: 1, ast.Mult: 2, ast.Div: 2, ast.FloorDiv: 2, ast.Pow: 4}
_BRACKETS = {"ceil": ("⌈", "⌉"), "floor": ("⌊", "⌋")}


@lru_cache(maxsize=2048)
def parsed(code: str) -> ast.expr:
    """The syntax tree of one expression."""
    return ast.parse(code, mode="eval").body


def evaluate(code: str, names: Mapping[str, Number]) -> Number:
    """The exact value of `code`: whole numbers stay whole and `/` makes a fraction."""
    return tidy(_value(parsed(code), names))


def tidy(value: Number) -> Number:
    """A fraction that is whole becomes an int."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _value(node: ast.expr, names: Mapping[str, Number]) -> Number:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return FUNCTIONS[node.func.id](*(_value(a, names) for a in node.args))
    if isinstance(node, ast.BinOp):
        return _operate(node.op, _value(node.left, names), _value(node.right, names))
    raise ValueError(f"an expression cannot hold {ast.dump(node)}")


def _operate(op: ast.operator, left: Number, right: Number) -> Number:
    if isinstance(op, ast.Add):
        return left + right
    if isinstance(op, ast.Sub):
        return left - right
    if isinstance(op, ast.Mult):
        return left * right
    if isinstance(op, ast.FloorDiv):
        return left // right
    if isinstance(op, ast.Pow):
        power: Number = left**right
        return power
    return _divided(left, right)


def _divided(left: Number, right: Number) -> Number:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    return Fraction(left) / Fraction(right)


@lru_cache(maxsize=2048)
def names_in(code: str) -> tuple[str, ...]:
    """The quantities an expression uses, in the order they are written."""
    found = [n.id for n in ast.walk(parsed(code)) if isinstance(n, ast.Name) and n.id not in FUNCTIONS]
    return tuple(dict.fromkeys(found))


def to_text(code: str, names: Names = None) -> str:
    """One line of readable text; with `names` the numbers are filled in."""
    return _text(parsed(code), names)


def _leaf(node: ast.expr, names: Names) -> str | None:
    if isinstance(node, ast.Constant):
        return number_text(node.value) if isinstance(node.value, int | float) else str(node.value)
    if isinstance(node, ast.Name):
        return number_text(names[node.id]) if names is not None else node.id.replace("_", " ")
    return None


def _text(node: ast.expr, names: Names) -> str:
    leaf = _leaf(node, names)
    if leaf is not None:
        return leaf
    if isinstance(node, ast.UnaryOp):
        return f"−{_text(node.operand, names)}"
    if isinstance(node, ast.Call):
        return _text_call(node, names)
    assert isinstance(node, ast.BinOp)
    left = _wrapped(node.left, node.op, names, right=False)
    right = _wrapped(node.right, node.op, names, right=True)
    sign = _SIGNS[type(node.op)]
    return f"{left}{sign}{right}" if isinstance(node.op, ast.Pow) else f"{left} {sign} {right}"


def _text_call(node: ast.Call, names: Names) -> str:
    assert isinstance(node.func, ast.Name)
    inside = ", ".join(_text(a, names) for a in node.args)
    opening, closing = _BRACKETS.get(node.func.id, (f"{node.func.id}(", ")"))
    return f"{opening}{inside}{closing}"


def _wrapped(node: ast.expr, parent: ast.operator, names: Names, *, right: bool) -> str:
    text = _text(node, names)
    return f"({text})" if _needs_brackets(node, parent, right=right) else text


def _needs_brackets(node: ast.expr, parent: ast.operator, *, right: bool) -> bool:
    if isinstance(node, ast.UnaryOp):
        return True
    if not isinstance(node, ast.BinOp):
        return False
    inner, outer = _STRENGTH[type(node.op)], _STRENGTH[type(parent)]
    return inner < outer or (inner == outer and right and not isinstance(parent, ast.Add | ast.Mult))


def to_mathml(code: str, names: Names = None, result: str = "", display: str = "block") -> str:
    """The expression as MathML; `result` is put before an equals sign."""
    head = f"{_mathml_name(result)}<mo>=</mo>" if result else ""
    body = _mathml(parsed(code), names)
    return f'<math xmlns="{MATHML}" display="{display}" displaystyle="true"><mrow>{head}{body}</mrow></math>'


def _mathml(node: ast.expr, names: Names) -> str:
    if isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and names is not None):
        return f"<mn>{escape(_leaf(node, names) or '')}</mn>"
    if isinstance(node, ast.Name):
        return _mathml_name(node.id)
    if isinstance(node, ast.UnaryOp):
        return f"<mo>−</mo>{_mathml(node.operand, names)}"
    if isinstance(node, ast.Call):
        return _mathml_call(node, names)
    assert isinstance(node, ast.BinOp)
    return _mathml_operation(node, names)


def _mathml_name(name: str) -> str:
    upright = ' mathvariant="normal"' if len(name) > 1 else ""
    return f"<mi{upright}>{escape(name.replace('_', ' '))}</mi>"


def _mathml_operation(node: ast.BinOp, names: Names) -> str:
    if isinstance(node.op, ast.Div):
        top, bottom = _mathml(node.left, names), _mathml(node.right, names)
        return f"<mfrac><mrow>{top}</mrow><mrow>{bottom}</mrow></mfrac>"
    left = _mathml_wrapped(node.left, node.op, names, right=False)
    if isinstance(node.op, ast.Pow):
        return f"<msup><mrow>{left}</mrow><mrow>{_mathml(node.right, names)}</mrow></msup>"
    right = _mathml_wrapped(node.right, node.op, names, right=True)
    return f"{left}<mo>{_SIGNS[type(node.op)]}</mo>{right}"


def _mathml_wrapped(node: ast.expr, parent: ast.operator, names: Names, *, right: bool) -> str:
    inner = _mathml(node, names)
    drawn_as_fraction = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    if drawn_as_fraction and not isinstance(parent, ast.Pow):
        return inner
    return f"<mo>(</mo>{inner}<mo>)</mo>" if _needs_brackets(node, parent, right=right) else inner


def _mathml_call(node: ast.Call, names: Names) -> str:
    assert isinstance(node.func, ast.Name)
    inside = "<mo>,</mo>".join(_mathml(a, names) for a in node.args)
    if node.func.id == "sqrt":
        return f"<msqrt>{inside}</msqrt>"
    if node.func.id in _BRACKETS:
        opening, closing = _BRACKETS[node.func.id]
        return f"<mo>{opening}</mo>{inside}<mo>{closing}</mo>"
    return f"{_mathml_name(node.func.id)}<mo>(</mo>{inside}<mo>)</mo>"
