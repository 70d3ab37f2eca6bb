"""Matrices in the formats the decoder multiplies by: int4 groups, int8 rows, dense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from engine.arranged import Bf16Matrix, Int8Matrix, dense_product
from engine.kernel import FEW_ROWS, takes, wide
from engine.panels import Panels, pack4, pack8, panels

GROUP = 32
# As many rows torch's int4 product takes as well; a bf16 one is faster from 9 rows on (docs/engine.md).
INT4_ROWS = FEW_ROWS


class Linear(Protocol):
    """Anything that maps [rows, in] to [rows, out]."""

    def __call__(self, x: Tensor) -> Tensor: ...

    @property
    def n_bytes(self) -> int: ...


@dataclass(slots=True)
class DenseLinear:
    """y = x W^T + b with W [out, in] in the activations' own type."""

    weight: Tensor
    bias: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        return dense_product(x, self.weight, self.bias)

    @property
    def n_bytes(self) -> int:
        return self.weight.nbytes + (0 if self.bias is None else self.bias.nbytes)


@dataclass(slots=True)
class DenseHead(DenseLinear):
    """The output matrix: takes the fp32 hidden state in the weights' own type."""

    def __call__(self, x: Tensor) -> Tensor:
        return dense_product(x.to(self.weight.dtype), self.weight, self.bias)


@dataclass(slots=True)
class Int4Linear:
    """W in 4-bit groups of 32 along `in`; w = (q - 8) scale + zero. Activations are bf16.

    `panels` is what the compiled kernel reads, where there is one. Else `packed` (made by
    `_convert_weight_to_int4pack_for_cpu`) and `scales` [in/32, out, 2] (scale, zero) are torch's. `wide` is the same matrix
    in bf16 for many rows at a time, where unpacking again for each block of rows costs more than reading it.
    """

    packed: Tensor
    scales: Tensor
    wide: Bf16Matrix
    bias: Tensor | None = None
    panels: Panels | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self.panels is not None and takes(x.shape[0]):
            return self.panels(x).to(x.dtype)
        if x.shape[0] > INT4_ROWS:
            return self.wide(x, self.bias)
        product: Tensor = torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.packed, GROUP, self.scales)
        return product if self.bias is None else product.add_(self.bias)

    @property
    def dense(self) -> Tensor:
        """The same matrix in bf16, [out, in]."""
        return self.wide.plain()

    @property
    def n_bytes(self) -> int:
        return self.packed.nbytes + self.scales.nbytes


@dataclass(slots=True)
class Int8Linear:
    """W in 8-bit groups of 32 along `in`, as Q8_0 stores it: w = scale q with q in -128..127. Activations are bf16.

    torch has no kernel for that, but two of its 4-bit products are one of 8 bits: q = 16 high + low.
    """

    high: Int4Linear
    low: Int4Linear
    panels: Panels | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self.panels is not None and takes(x.shape[0]):
            return self.panels(x).to(x.dtype)
        if x.shape[0] > INT4_ROWS:
            return self.high(x)
        low = self.low
        rest: Tensor = torch.ops.aten._weight_int4pack_mm_for_cpu(x, low.packed, GROUP, low.scales)
        return self.high(x).add_(rest)

    @property
    def dense(self) -> Tensor:
        """The same matrix in bf16, [out, in]."""
        return self.high.dense

    @property
    def n_bytes(self) -> int:
        return self.high.n_bytes + self.low.n_bytes


class Int8Head:
    """The output matrix as int8 rows with one scale each; the result is fp32.

    The hidden state is split into two int8 halves, h = s (128 hi + lo), so that 14 bits of it
    reach an exact integer product; a bf16 kernel would round logits near 20 to steps of 1/8.
    """

    def __init__(self, weight: Tensor, scale: Tensor) -> None:
        self._matrix = Int8Matrix(weight, scale)

    def __call__(self, x: Tensor) -> Tensor:
        step = x.abs().amax(-1, keepdim=True).clamp_min_(1e-30).div_(127 * 128)
        whole = (x / step).round_()
        high = (whole / 128).round_()
        low = whole.sub_(high, alpha=128)
        both = self._matrix(torch.cat([high, low]).to(torch.int8))
        return torch.add(both[len(x) :], both[: len(x)], alpha=128).mul_(step)

    @property
    def n_bytes(self) -> int:
        return self._matrix.n_bytes


def pack_int4(q: Tensor, scale: Tensor, minimum: Tensor, bias: Tensor | None = None) -> Int4Linear:
    """Packs q [N, K] in 0..15 with w = scale q + minimum, scale and minimum [N, K/32] in fp32."""
    values = q.view(*scale.shape, GROUP) * scale[..., None] + minimum[..., None]
    return Int4Linear(
        packed=_packed(q),
        scales=_grouped(scale, minimum + 8 * scale),
        wide=_wide(values, q),
        bias=bias,
        panels=panels(pack4(q, scale, minimum), q.shape[0], bias),
    )


def _wide(values: Tensor, like: Tensor) -> Bf16Matrix:
    return Bf16Matrix(values.view(like.shape).to(torch.bfloat16), arrange=not wide())


def _packed(q: Tensor) -> Tensor:
    """0..15 in the order the kernel reads."""
    packed: Tensor = torch.ops.aten._convert_weight_to_int4pack_for_cpu(q.to(torch.int32), 1)
    return packed


def _grouped(scale: Tensor, zero: Tensor) -> Tensor:
    """(scale, zero) a group as the kernel reads them: [K/32, N, 2]."""
    return torch.stack([scale, zero], dim=-1).transpose(0, 1).contiguous().to(torch.bfloat16)


def quantise_int4(weight: Tensor, bias: Tensor | None = None) -> Int4Linear:
    """Rounds an fp32 matrix to 4 bits between each group's least and greatest value."""
    groups = weight.float().view(weight.shape[0], -1, GROUP)
    minimum = groups.amin(-1)
    scale = (groups.amax(-1) - minimum).clamp_min(1e-30) / 15
    q = ((groups - minimum[..., None]) / scale[..., None]).round().clamp_(0, 15)
    return pack_int4(q.view(weight.shape).to(torch.uint8), scale, minimum, bias)


def pack_int8(q: Tensor, scale: Tensor, bias: Tensor | None = None) -> Int8Linear:
    """Packs q [N, K] in -128..127 with w = scale q, scale [N, K/32] in fp32."""
    whole = q.to(torch.int32)
    high, low = whole >> 4, whole & 15
    wide = _wide(whole.view(*scale.shape, GROUP) * scale[..., None], q)
    return Int8Linear(
        Int4Linear(_packed(high + 8), _grouped(16 * scale, torch.zeros_like(scale)), wide, bias),
        Int4Linear(_packed(low), _grouped(scale, 8 * scale), wide),
        panels(pack8(q, scale), q.shape[0], bias),
    )


def quantise_int8(weight: Tensor, bias: Tensor | None = None) -> Int8Linear:
    """Rounds an fp32 matrix to int8 with one scale a group of 32: what Q8_0 holds comes out as it was."""
    return pack_int8(*int8_groups(weight), bias)


def int8_groups(weight: Tensor) -> tuple[Tensor, Tensor]:
    """An fp32 matrix [n, k] as q [n, k] in -127..127 and a scale a group of 32 columns."""
    groups = weight.float().view(weight.shape[0], -1, GROUP)
    scale = groups.abs().amax(-1).clamp_min(1e-30) / 127
    q = (groups / scale[..., None]).round().clamp_(-127, 127)
    return q.view(weight.shape).to(torch.int8), scale


def head_panels(weight: Tensor) -> Tensor | None:
    """The output matrix for the compiled kernel; what Q8_0 holds comes out as it was. None where it can't take it."""
    return pack8(*int8_groups(weight)) if weight.shape[1] % GROUP == 0 else None


def int8_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """An fp32 matrix [out, in] rounded to int8 with one fp32 scale a row: weight = scale x int8."""
    scale = weight.float().abs().amax(-1).clamp_min(1e-30) / 127
    return (weight / scale[:, None]).round().to(torch.int8), scale
