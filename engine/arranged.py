"""Matrices in the order in which the CPU's kernels read them, arranged once instead of anew in every product."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def arranges_bf16() -> bool:
    """True where oneDNN multiplies in bf16 (AVX-512 and later)."""
    return bool(torch._C._has_mkldnn and torch.ops.mkldnn._is_mkldnn_bf16_supported())


def arranges_int8() -> bool:
    """True where int8 products are exact and fast: without VNNI their 16-bit sums may saturate."""
    return bool(torch._C._has_mkldnn and torch.cpu._is_vnni_supported())


def dense_product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b. On a CPU without bf16 products it goes through fp32: torch's own bf16 loops take ten times as long."""
    if x.dtype != torch.bfloat16 or x.device.type != "cpu" or arranges_bf16():
        return F.linear(x, weight, bias)
    return F.linear(x.float(), weight.float(), None if bias is None else bias.float()).to(x.dtype)


class Bf16Matrix:
    """y = x W^T + b for many rows. A row's result doesn't depend on how many others there are.

    Not arranged where the compiled kernel multiplies many rows: then it is only read by who wants the plain matrix.
    """

    def __init__(self, weight: Tensor, *, arrange: bool = True) -> None:
        self._plain: Tensor | None = None
        self._arranged: Tensor | None = None
        self.n_bytes = weight.nbytes
        if arrange and weight.device.type == "cpu" and weight.dtype == torch.bfloat16 and arranges_bf16():
            self._arranged = torch.ops.mkldnn._reorder_linear_weight(weight)
        else:
            self._plain = weight

    def __call__(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        if self._plain is not None:
            return dense_product(x, self._plain, bias)
        found: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._arranged, bias, "none", [], "")
        return found

    def plain(self) -> Tensor:
        """W [out, in] in the usual order."""
        if self._plain is not None:
            return self._plain
        assert self._arranged is not None
        return self._arranged.to_dense()


class Int8Matrix:
    """y = (x W^T) scale for int8 x and W [out, in], summed exactly; the result is fp32."""

    def __init__(self, weight: Tensor, scale: Tensor) -> None:
        self.n_bytes = weight.nbytes + scale.nbytes
        self._scale = scale
        self._plain: Tensor | None = None
        if weight.device.type == "cpu" and arranges_int8():
            self._arranged: Tensor = torch.ops.onednn.qlinear_prepack(weight, None)
            self._zeros = torch.zeros(weight.shape[0], dtype=torch.int64)
        else:
            # Sums of up to 1,040 products of two int8 are exact in fp32, and torch's int8 loops are far slower.
            self._plain = weight.float()

    def __call__(self, x: Tensor) -> Tensor:
        if self._plain is not None:
            return F.linear(x.float(), self._plain).mul_(self._scale)
        # VNNI multiplies unsigned by signed: 128 is added, and taken off again by the kernel.
        shifted = x.view(torch.uint8).bitwise_xor(128)
        found: Tensor = torch.ops.onednn.qlinear_pointwise(
            shifted, 1.0, 128, self._arranged, self._scale, self._zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )  # fmt: skip
        return found
