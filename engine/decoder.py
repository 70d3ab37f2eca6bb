"""The Llama family as one readable forward pass over a ragged batch.

RMSNorm, rotary positions, grouped-query attention, SwiGLU (Touvron et al. 2023, arXiv 2302.13971).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.arranged import arranges_bf16
from engine.attention import Views, attend, views_of
from engine.cache import Arena, KVCache, padded
from engine.fused import Fused, fuse
from engine.kernel import FEW_ROWS, takes
from engine.linear import Linear
from engine.lora import Updates, groups, product
from engine.rope import RopeScaling, rope_tables

ADAPTERS_KEPT = 8  # ready for the compiled pass


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes and constants of a decoder."""

    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    context_length: int
    rms_eps: float = 1e-5
    rope_theta: float = 10_000.0
    rope_scaling: RopeScaling = field(default_factory=RopeScaling)

    @property
    def group(self) -> int:
        """Query heads that share one key and value head."""
        return self.n_heads // self.n_kv_heads


@dataclass(slots=True)
class Norm:
    """RMSNorm: w x sqrt(n) / sqrt(|x|^2 + n eps), which is x / rms(x).

    `gain` is w sqrt(n), `floor` is sqrt(n eps).
    """

    gain: Tensor
    floor: Tensor

    @classmethod
    def of(cls, weight: Tensor, eps: float) -> Norm:
        """From the usual weight [n]."""
        n = weight.shape[0]
        return cls(weight.float() * n**0.5, torch.tensor((n * eps) ** 0.5, device=weight.device))

    def __call__(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        size = torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), self.floor)
        # Rounding inside the product saves a pass; an `out` of another type is how torch spells that.
        return torch.mul(x / size, self.gain, out=torch.empty(x.shape, dtype=dtype, device=x.device))


@dataclass(slots=True)
class Layer:
    """One block. `qkv` and `gate_up` are fused: fewer, larger products."""

    attn_norm: Norm
    qkv: Linear
    out: Linear
    mlp_norm: Norm
    gate_up: Linear
    down: Linear
    q_norm: Norm | None = None
    k_norm: Norm | None = None


@dataclass(slots=True)
class Segment:
    """A run of new tokens of one sequence: they take positions cache.length, cache.length + 1, ...

    `updates` are an adapter's; sequences of one batch may have different ones.
    """

    cache: KVCache
    length: int
    updates: Updates | None = None


class Probe:
    """Told what a forward pass computes; see `engine.observe`."""

    def layer_input(self, layer: int, hidden: Tensor) -> None:
        """The residual stream [rows, hidden] before a layer (layer == n_layers: after the last)."""

    def attention(self, layer: int, q: Tensor, k: Tensor, offset: int) -> None:
        """Queries [rows, n_heads, head_dim] and all keys [n, n_kv_heads, head_dim]; row i sees keys
        0..offset + i.
        """


class Decoder:
    """Weights plus the forward pass. Not thread-safe: one thread owns it."""

    can_rewind = True

    def __init__(
        self,
        shape: Shape,
        embedding: Tensor,
        layers: list[Layer],
        norm: Norm,
        head: Linear,
        dtype: torch.dtype,
    ) -> None:
        self.shape, self.embedding, self.layers, self.norm, self.head = shape, embedding, layers, norm, head
        self.dtype = dtype
        self.device = embedding.device
        cos, sin = rope_tables(shape.head_dim, shape.context_length, shape.rope_theta, shape.rope_scaling)
        self.cos, self.sin = cos.to(self.device), sin.to(self.device)
        self.fused = fuse(self)
        self._changed: list[Fused] = []

    def new_cache(self, capacity: int) -> KVCache:
        """An empty cache for `capacity` tokens."""
        s = self.shape
        size = (s.n_layers, padded(capacity), 2 * s.n_kv_heads, s.head_dim)
        return KVCache(torch.zeros(size, dtype=self.dtype, device=self.device), capacity)

    def new_arena(self, n_bytes: int) -> Arena | None:
        """A block for the caches of running sequences; None where a decoder keeps caches of another kind."""
        return Arena(self.shape, n_bytes // self.kv_bytes_per_token, self.dtype, self.device)

    @property
    def kv_bytes_per_token(self) -> int:
        """2 (K and V) x layers x KV heads x head size x bytes of a value."""
        s = self.shape
        return 2 * s.n_layers * s.n_kv_heads * s.head_dim * self.dtype.itemsize

    @torch.inference_mode()
    def forward(self, ids: Tensor, segments: Sequence[Segment], probe: Probe | None = None) -> Tensor:
        """Runs ids [rows] (the segments' tokens one after another); returns hidden states [rows, hidden],
        fp32.

        Keys and values are written to the caches and their lengths advance. The residual stream stays in
        fp32.
        """
        x = self.embedding[ids].float()
        if self.fused is None or not takes(len(x)):
            return self._watched(x, segments, probe)
        if probe:
            # What comes out is still the compiled pass's, to the last bit: a page shows the odds that are drawn from.
            self._watched(x.clone(), segments, probe)
            for segment in segments:
                segment.cache.length -= segment.length
        return self._fused(x, segments)

    def _fused(self, x: Tensor, segments: Sequence[Segment]) -> Tensor:
        """The compiled pass, once for each adapter in the batch and once for the rows without one."""
        first = segments[0].updates
        if all(s.updates is first for s in segments):
            return self._counted(x, segments)
        for updates in {id(s.updates): s.updates for s in segments}.values():
            rows = torch.tensor([s.updates is updates for s in segments for _ in range(s.length)])
            x[rows] = self._counted(x[rows], [s for s in segments if s.updates is updates])
        return x

    def _counted(self, x: Tensor, segments: Sequence[Segment]) -> Tensor:
        found = self._compiled(segments[0].updates)(x, segments)
        for segment in segments:
            segment.cache.length += segment.length
        return found

    def _compiled(self, updates: Updates | None) -> Fused:
        """The compiled pass as an adapter changes it; those used last are kept."""
        assert self.fused is not None
        if updates is None:
            return self.fused
        known = next((f for f in self._changed if f.updates is updates), None) or Fused(self, updates)
        self._changed = [known, *(f for f in self._changed if f is not known)][:ADAPTERS_KEPT]
        return known

    def _watched(self, x: Tensor, segments: Sequence[Segment], probe: Probe | None) -> Tensor:
        """The pass step by step, in torch; between the steps in fp32 where the compiled one is."""
        in_bf16 = len(x) > FEW_ROWS and arranges_bf16()
        dtype = self.dtype if in_bf16 or not self.fused else torch.float32
        cos, sin = self._positions(segments, dtype)
        views = views_of(segments, self.shape.n_kv_heads, together=probe is None)
        changed = groups(segments)
        for index, layer in enumerate(self.layers):
            if probe:
                probe.layer_input(index, x)
            flat = product(layer.qkv, layer.attn_norm(x, dtype), index, "qkv", changed)
            heads = self._heads(layer, flat, cos, sin)
            x += product(layer.out, self._attention(index, heads, views, probe), index, "out", changed)
            inner = product(layer.gate_up, layer.mlp_norm(x, dtype), index, "gate_up", changed)
            gate, up = inner.chunk(2, -1)
            x += product(layer.down, F.silu(gate).mul_(up), index, "down", changed)
        for segment in segments:
            segment.cache.length += segment.length
        if probe:
            probe.layer_input(len(self.layers), x)
        return self.norm(x, torch.float32)

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states [rows, hidden] to logits [rows, vocab] in fp32."""
        return self.head(hidden).float()

    def _positions(self, segments: Sequence[Segment], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        spans = [slice(s.cache.length, s.cache.length + s.length) for s in segments]
        if len(spans) == 1:
            return self.cos[spans[0]].to(dtype), self.sin[spans[0]].to(dtype)
        return torch.cat([self.cos[s] for s in spans]).to(dtype), torch.cat([self.sin[s] for s in spans]).to(
            dtype
        )

    def _heads(self, layer: Layer, flat: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Queries, keys, values [rows, n_heads + 2 n_kv_heads, head_dim], the first two rotated in place."""
        s = self.shape
        heads = flat.view(flat.shape[0], s.n_heads + 2 * s.n_kv_heads, s.head_dim)
        turned = heads[:, : s.n_heads + s.n_kv_heads]
        if layer.q_norm and layer.k_norm:
            turned[:, : s.n_heads] = layer.q_norm(turned[:, : s.n_heads].float(), flat.dtype)
            turned[:, s.n_heads :] = layer.k_norm(turned[:, s.n_heads :].float(), flat.dtype)
        rotate_(turned, cos, sin)
        return heads

    def _attention(self, index: int, heads: Tensor, views: list[Views], probe: Probe | None) -> Tensor:
        mixed = attend(self.shape, index, heads, views)
        if probe:
            row = 0
            for view in views:
                queries = heads[row : row + view.rows, : self.shape.n_heads]
                probe.attention(index, queries, view.keys[index][0], view.past)
                row += view.rows
        return mixed


def rotate_(x: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Rotary positions on [rows, heads, head_dim], in place: x cos + swap(x) sin.

    `swap` exchanges the halves of a head; the sign of the first half lies in `sin`.
    """
    rows, heads, dim = x.shape
    swapped = x.view(rows, heads, 2, dim // 2).flip(-2).view(rows, heads, dim)
    x.mul_(cos).addcmul_(swapped, sin)
