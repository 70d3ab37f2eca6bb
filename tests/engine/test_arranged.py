"""Matrices arranged for the CPU give what the plain products give, whatever the number of rows."""

from __future__ import annotations

import threading

import pytest
import torch
import torch.nn.functional as F

from engine import arranged
from engine.arranged import Bf16Matrix, Int8Matrix
from engine.aside import aside
from engine.linear import Int8Head, int8_rows, quantise_int4


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize("on", [True, False])
def test_bf16_products(monkeypatch: pytest.MonkeyPatch, on: bool) -> None:
    if not on:
        monkeypatch.setattr(arranged, "arranges_bf16", lambda: False)
    weight, bias = drawn(96, 64).bfloat16(), drawn(96).bfloat16()
    matrix = Bf16Matrix(weight)
    x = drawn(40, 64).bfloat16()
    exact = F.linear(x.double(), weight.double(), bias.double())
    assert float((matrix(x, bias).double() - exact).abs().max()) < 0.01 * float(exact.abs().max())
    assert torch.equal(matrix.plain(), weight)


def test_a_row_of_many_is_the_same_in_any_company() -> None:
    """By oneDNN's bf16 products, or by the compiled kernel where the CPU has none."""
    matrix = quantise_int4(drawn(96, 64))
    x = drawn(512, 64).bfloat16()
    whole = matrix(x)
    assert all(torch.equal(matrix(x[a:b]), whole[a:b]) for a, b in [(0, 128), (128, 172), (3, 400)])


@pytest.mark.parametrize("on", [True, False])
def test_int8_products_are_exact(monkeypatch: pytest.MonkeyPatch, on: bool) -> None:
    if not on:
        monkeypatch.setattr(arranged, "arranges_int8", lambda: False)
    weight = torch.randint(-127, 128, (96, 64), dtype=torch.int8, generator=torch.Generator().manual_seed(1))
    weight[0], weight[1] = 127, -127
    scale = torch.full((96,), 0.5)
    x = torch.randint(-127, 128, (20, 64), dtype=torch.int8, generator=torch.Generator().manual_seed(2))
    x[0] = 127
    expected = (x.long() @ weight.long().T).float() * 0.5
    assert torch.equal(Int8Matrix(weight, scale)(x), expected)


def test_the_head_keeps_fourteen_bits_of_the_hidden_state() -> None:
    rows, scale = int8_rows(drawn(200, 64))
    hidden = 30 * drawn(5, 64)
    exact = hidden.double() @ (rows.double() * scale.double()[:, None]).T
    found = Int8Head(rows, scale)(hidden)
    assert found.dtype == torch.float32
    # A step is 1/16256 of the row's largest value; rounding errors of 64 columns add up to far less than 64 half steps.
    bound = float(hidden.abs().max()) / 16256 * float((rows.abs() * scale[:, None]).sum(-1).max()) / 2
    assert float((found - exact).abs().max()) < bound


def test_an_int4_matrix_is_the_same_for_few_and_for_many_rows() -> None:
    matrix = quantise_int4(drawn(96, 64))
    x = drawn(32, 64).bfloat16()
    few = torch.cat([matrix(row) for row in x.split(4)])
    assert float((matrix(x) - few).abs().max()) < 0.02 * float(few.abs().max())
    assert torch.equal(matrix.dense, matrix.wide.plain())


def test_work_aside_ends_with_its_thread() -> None:
    assert aside(threading.current_thread) not in threading.enumerate()
    with pytest.raises(ZeroDivisionError):
        aside(lambda: 1 // 0)
