"""The decoder's whole forward pass in one call of the compiled kernel: no time goes to a thousand small calls.

`Decoder.forward` is the same pass in torch, and takes over where something is to be watched or changed in between.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.kernel import EVERY, FEW_ROWS, CBatch, CLayer, CMatrix, CModel, compiled, wide
from engine.lora import MATRICES, Low, Updates
from engine.panels import GROUP, PANEL
from engine.rope import rope_tables

if TYPE_CHECKING:
    from engine.decoder import Decoder, Layer, Norm, Segment


class Fused:
    """A decoder's weights as the kernel wants them. It holds on to the decoder's tensors, not to copies.

    With `updates` the decoder as an adapter changes it, over the same weights.
    """

    def __init__(self, decoder: Decoder, updates: Updates | None = None) -> None:
        s = decoder.shape
        changes = updates or [{}] * s.n_layers
        self.updates = updates
        self._context = s.context_length
        self._kept: list[Any] = []
        cos, sin = rope_tables(s.head_dim, s.context_length, s.rope_theta, s.rope_scaling)
        layers = (CLayer * s.n_layers)(*map(self._layer, decoder.layers, changes))
        head = decoder.layers[0].q_norm
        self._model = CModel(
            s.n_layers, s.hidden_size, s.intermediate_size, s.n_heads, s.n_kv_heads, s.head_dim, 1, FEW_ROWS if wide() else EVERY,
            max((low.a.shape[0] for layer in changes for low in layer.values()), default=0),
            float(decoder.norm.floor), float(head.floor) if head else 0.0,
            self._pointer(cos), self._pointer(sin), self._pointer(decoder.norm.gain), layers,
        )  # fmt: skip
        self._kept.append(layers)

    def __call__(self, x: Tensor, segments: Sequence[Segment]) -> Tensor:
        """Embedded tokens [rows, hidden] in fp32 -> the last norm's hidden states, in place; caches are written.

        Lengths of caches are left to the caller.
        """
        library = compiled()
        assert library is not None
        rows = x.shape[0]
        positions, caches, strides = (c_int64 * rows)(), (c_void_p * rows)(), (c_int64 * rows)()
        row = 0
        for segment in segments:
            cache = segment.cache
            if cache.length + segment.length > min(cache.data.shape[1], self._context):
                raise IndexError(f"{segment.length} more tokens don't fit a cache with {cache.length}")
            start, stride = cache.data.data_ptr(), cache.data.stride(0)
            for position in range(cache.length, cache.length + segment.length):
                positions[row], caches[row], strides[row] = position, start, stride
                row += 1
        self._model.threads = torch.get_num_threads()
        batch = CBatch(rows, positions, caches, strides)
        if library.kernel_forward(ctypes.byref(self._model), ctypes.byref(batch), x.data_ptr()):
            raise MemoryError(f"no memory for a pass of {rows} rows")
        return x

    def _layer(self, layer: Layer, changes: dict[str, Low]) -> CLayer:
        matrices = [self._matrix(getattr(layer, name), changes.get(name)) for name in MATRICES]
        norms = (layer.attn_norm, layer.mlp_norm, layer.q_norm, layer.k_norm)
        return CLayer(*matrices, *(self._gain(norm) for norm in norms))

    def _matrix(self, linear: Any, low: Low | None) -> CMatrix:
        self._kept.append(linear.panels)
        d: CMatrix = linear.panels.described
        if low is None:
            return d
        b = low.b.float()
        b = torch.nn.functional.pad(b, (0, 0, 0, -len(b) % PANEL)).view(-1, PANEL, b.shape[1]).transpose(1, 2)
        return CMatrix(d.bits, d.n, d.k, d.panels, d.bias, b.shape[1], self._pointer(low.a), self._pointer(b))

    def _gain(self, norm: Norm | None) -> int | None:
        return None if norm is None else self._pointer(norm.gain)

    def _pointer(self, values: Tensor) -> int:
        kept = values.float().contiguous()
        self._kept.append(kept)
        return kept.data_ptr()


def fuse(decoder: Decoder) -> Fused | None:
    """The decoder's pass in the compiled kernel; None where there is no kernel or it can't hold this decoder."""
    s = decoder.shape
    matrices = [m for layer in decoder.layers for m in (layer.qkv, layer.out, layer.gate_up, layer.down)]
    fits = (
        compiled() is not None
        and decoder.device.type == "cpu"
        and decoder.dtype == torch.bfloat16
        and all(n % GROUP == 0 for n in (s.head_dim, s.hidden_size, s.intermediate_size))
        and all(getattr(m, "panels", None) is not None for m in matrices)
    )
    return Fused(decoder) if fits else None
