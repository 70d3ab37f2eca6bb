"""Matrices in the panels that engine/kernel.c reads: 4 or 8 bits a weight, every value as the file has it."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from engine.kernel import EVERY, FEW_ROWS, CMatrix, compiled, wide

GROUP = 32
PANEL = 32


def pack4(q: Tensor, scale: Tensor, minimum: Tensor) -> Tensor:
    """q [n, k] in 0..15 with w = scale q + minimum, both [n, k/32] -> uint8 [panels, groups, 640]."""
    q, scale, minimum = (_filled(t) for t in (q, scale, minimum))
    groups = q.shape[1] // GROUP
    # [panel, half, row, group, pair, one of the pair]
    parts = (
        q.to(torch.uint8).view(-1, 2, 16, groups, 16, 2).permute(0, 3, 1, 4, 2, 5).reshape(-1, groups, 2, 512)
    )
    packed = parts[:, :, 0] | (parts[:, :, 1] << 4)
    return torch.cat([packed, _fp16(scale), _fp16(minimum)], -1).contiguous()


def pack8(q: Tensor, scale: Tensor) -> Tensor:
    """q [n, k] in -128..127 with w = scale q, scale [n, k/32] -> uint8 [panels, groups, 1088]."""
    q, scale = _filled(q), _filled(scale)
    groups = q.shape[1] // GROUP
    parts = q.to(torch.int8).view(-1, PANEL, groups, 16, 2).permute(0, 2, 3, 1, 4).reshape(-1, groups, 1024)
    return torch.cat([parts.view(torch.uint8), _fp16(scale)], -1).contiguous()


def _filled(rows: Tensor) -> Tensor:
    """Rows of zeros up to a whole panel."""
    missing = -rows.shape[0] % PANEL
    return torch.cat([rows, rows.new_zeros(missing, rows.shape[1])]) if missing else rows


def _fp16(values: Tensor) -> Tensor:
    """[n, groups] -> bytes [panels, groups, 64]."""
    groups = values.shape[1]
    halves = values.view(-1, PANEL, groups).transpose(1, 2).contiguous().to(torch.float16)
    return halves.view(torch.uint8).view(-1, groups, 2 * PANEL)


class Panels:
    """y = x W^T + b in fp32 for any number of rows; a row's result doesn't depend on how many there are."""

    def __init__(self, packed: Tensor, n: int, bias: Tensor | None = None, *, exact: bool = False) -> None:
        """With `exact`, many rows too are multiplied in whole numbers."""
        self.packed, self.n = packed, n
        self.few = FEW_ROWS if wide() and not exact else EVERY
        self.bias = None if bias is None else bias.float().contiguous()
        self.k = packed.shape[1] * GROUP
        bits = 4 if packed.shape[2] == 16 * 32 + 128 else 8
        self.described = CMatrix(
            bits, n, self.k, packed.data_ptr(), None if self.bias is None else self.bias.data_ptr()
        )

    def __call__(self, x: Tensor) -> Tensor:
        library = compiled()
        assert library is not None
        given = x.float().contiguous()
        found = torch.empty(x.shape[0], self.n)
        if library.kernel_product(
            ctypes.byref(self.described),
            given.data_ptr(),
            x.shape[0],
            self.few,
            found.data_ptr(),
            torch.get_num_threads(),
        ):
            raise MemoryError(f"no memory for a product of {x.shape[0]} rows")
        return found

    @property
    def n_bytes(self) -> int:
        """Bytes of the packed weights."""
        return self.packed.nbytes


def panels(
    packed: Tensor | None, n: int, bias: Tensor | None = None, *, exact: bool = False
) -> Panels | None:
    """A matrix for the compiled kernel; None where there is no kernel or nothing is packed."""
    return Panels(packed, n, bias, exact=exact) if packed is not None and compiled() is not None else None
