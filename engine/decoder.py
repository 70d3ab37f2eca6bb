"""The Llama family as one readable forward pass over a ragged batch.

RMSNorm, rotary positions, grouped-query attention, SwiGLU (Touvron et al. 2023, arXiv 2302.13971; GQA:
2305.13245).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.linear import Linear
from engine.rope import RopeScaling, rope_tables


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

    def __call__(self, x: Tensor) -> Tensor:
        return (x / torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), self.floor)).mul_(
            self.gain
        )


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


class KVCache:
    """Keys and values of one sequence, preallocated: [n_layers, capacity, 2 n_kv_heads, head_dim]."""

    __slots__ = ("capacity", "data", "length")

    def __init__(self, shape: Shape, capacity: int, dtype: torch.dtype, device: torch.device) -> None:
        self.data = torch.empty(
            (shape.n_layers, capacity, 2 * shape.n_kv_heads, shape.head_dim), dtype=dtype, device=device
        )
        self.capacity = capacity
        self.length = 0

    @property
    def n_bytes(self) -> int:
        """Bytes reserved."""
        return self.data.nbytes

    def truncate(self, length: int) -> None:
        """Forgets everything from position `length` on."""
        self.length = min(self.length, length)

    def copy_from(self, other: KVCache, length: int) -> None:
        """Takes over the first `length` positions of another sequence."""
        self.data[:, :length] = other.data[:, :length]
        self.length = length


@dataclass(slots=True)
class Segment:
    """A run of new tokens of one sequence: they take positions cache.length, cache.length + 1, ..."""

    cache: KVCache
    length: int


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
        self.cos, self.sin = cos.to(self.device, dtype), sin.to(self.device, dtype)
        self.scale = shape.head_dim**-0.5

    def new_cache(self, capacity: int) -> KVCache:
        """An empty cache for `capacity` tokens."""
        return KVCache(self.shape, capacity, self.dtype, self.device)

    @property
    def kv_bytes_per_token(self) -> int:
        """2 (K and V) x layers x KV heads x head size x bytes of a value."""
        s = self.shape
        return 2 * s.n_layers * s.n_kv_heads * s.head_dim * self.dtype.itemsize

    @torch.inference_mode()
    def forward(self, ids: Tensor, segments: Sequence[Segment], probe: Probe | None = None) -> Tensor:
        """Runs ids [rows] (the segments' tokens one after another) and returns hidden states [rows, hidden]
        in fp32.

        Keys and values are written to the caches and their lengths advance. The residual stream stays in
        fp32.
        """
        x = self.embedding[ids].float()
        cos, sin = self._positions(segments)
        masks = [self._mask(s) for s in segments]
        for index, layer in enumerate(self.layers):
            if probe:
                probe.layer_input(index, x)
            attended = self._attention(
                index, layer, layer.attn_norm(x).to(self.dtype), segments, cos, sin, masks, probe
            )
            x += layer.out(attended)
            gate, up = layer.gate_up(layer.mlp_norm(x).to(self.dtype)).chunk(2, -1)
            x += layer.down(F.silu(gate).mul_(up))
        for segment in segments:
            segment.cache.length += segment.length
        if probe:
            probe.layer_input(len(self.layers), x)
        return self.norm(x)

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states [rows, hidden] to logits [rows, vocab] in fp32."""
        return self.head(hidden).float()

    def _positions(self, segments: Sequence[Segment]) -> tuple[Tensor, Tensor]:
        spans = [slice(s.cache.length, s.cache.length + s.length) for s in segments]
        if len(spans) == 1:
            return self.cos[spans[0]], self.sin[spans[0]]
        return torch.cat([self.cos[s] for s in spans]), torch.cat([self.sin[s] for s in spans])

    def _mask(self, segment: Segment) -> Tensor | None:
        """What each new row may see; None where the kernel's own causal rule or a single row makes it
        needless.
        """
        past, new = segment.cache.length, segment.length
        if new == 1 or past == 0:
            return None
        allowed = torch.ones(new, past + new, dtype=torch.bool, device=self.device).tril_(past)
        return torch.zeros(new, past + new, dtype=self.dtype, device=self.device).masked_fill_(
            ~allowed, -torch.inf
        )

    def _attention(
        self,
        index: int,
        layer: Layer,
        h: Tensor,
        segments: Sequence[Segment],
        cos: Tensor,
        sin: Tensor,
        masks: list[Tensor | None],
        probe: Probe | None,
    ) -> Tensor:
        s = self.shape
        rows = h.shape[0]
        heads = layer.qkv(h).view(rows, s.n_heads + 2 * s.n_kv_heads, s.head_dim)
        qk, v = heads[:, : s.n_heads + s.n_kv_heads], heads[:, s.n_heads + s.n_kv_heads :]
        if layer.q_norm and layer.k_norm:
            qk = torch.cat(
                [layer.q_norm(qk[:, : s.n_heads].float()), layer.k_norm(qk[:, s.n_heads :].float())], 1
            )
            qk = qk.to(self.dtype)
        qk = rotate(qk, cos, sin)
        q, k = qk[:, : s.n_heads], qk[:, s.n_heads :]
        outputs, row = [], 0
        for segment, mask in zip(segments, masks, strict=True):
            new, past = slice(row, row + segment.length), segment.cache.length
            held = segment.cache.data[index]
            held[past : past + segment.length, : s.n_kv_heads] = k[new]
            held[past : past + segment.length, s.n_kv_heads :] = v[new]
            seen = held[: past + segment.length]
            if probe:
                probe.attention(index, q[new], seen[:, : s.n_kv_heads], past)
            outputs.append(self._attend(q[new], seen, mask))
            row += segment.length
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

    def _attend(self, q: Tensor, seen: Tensor, mask: Tensor | None) -> Tensor:
        """q [new, n_heads, head_dim] over cached rows [n, 2 n_kv_heads, head_dim] -> [new, n_heads
        head_dim].
        """
        s, new = self.shape, q.shape[0]
        k, v = seen.transpose(0, 1).tensor_split(2)
        if new == 1:
            # The query heads of a group become rows of one small matrix product with their shared keys.
            grouped = q.view(1, s.n_kv_heads, s.group, s.head_dim)
            return F.scaled_dot_product_attention(grouped, k[None], v[None]).view(1, -1)
        # KV heads stand as the batch axis, so sharing them within a group is a stride of 0, not a copy.
        grouped = q.view(new, s.n_kv_heads, s.group, s.head_dim).permute(1, 2, 0, 3)
        shared_k, shared_v = (t[:, None].expand(-1, s.group, -1, -1) for t in (k, v))
        out = F.scaled_dot_product_attention(
            grouped, shared_k, shared_v, attn_mask=mask, is_causal=mask is None
        )
        return out.permute(2, 0, 1, 3).reshape(new, -1)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions on [rows, heads, head_dim]: x cos + swap(x) sin, the sign of the first half lying in
    `sin`.
    """
    rows, heads, dim = x.shape
    swapped = x.reshape(rows, heads, 2, dim // 2).flip(-2).view(rows, heads, dim)
    return torch.addcmul(x * cos, swapped, sin)
