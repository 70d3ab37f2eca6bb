"""The decoder's forward pass once more, differentiable in its low-rank updates and heads.

One passage with several questions is one sequence: the questions follow it side by side, each at the positions
right after the passage, each seeing the passage and itself alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.decoder import Decoder, Norm
from engine.lora import dense, key, sizes

POINTER = 64


@dataclass(frozen=True, slots=True)
class Tree:
    """A trunk and its branches as one sequence: ids, positions, which position may see which."""

    ids: Tensor
    positions: Tensor
    mask: Tensor


def tree(trunk: Sequence[int], branches: Sequence[Sequence[int]]) -> Tree:
    """Lays out a passage and the questions after it."""
    n, lengths = len(trunk), [len(b) for b in branches]
    total = n + sum(lengths)
    owner = torch.zeros(total, dtype=torch.long)
    positions = [torch.arange(n)]
    at = n
    for index, length in enumerate(lengths):
        owner[at : at + length] = index + 1
        positions.append(torch.arange(n, n + length))
        at += length
    causal = torch.ones(total, total, dtype=torch.bool).tril_()
    mask = causal & ((owner[None] == 0) | (owner[:, None] == owner[None]))
    ids = torch.tensor([*trunk, *(i for b in branches for i in b)])
    return Tree(ids, torch.cat(positions), mask)


def new_parameters(
    decoder: Decoder, rank: int, seed: int, first_layer: int = 0, classes: int = 1
) -> dict[str, Tensor]:
    """Fresh updates (B is zero, so that nothing changes yet) from a layer on, and heads, all in fp32."""
    rng = torch.Generator().manual_seed(seed)
    made: dict[str, Tensor] = {}
    for layer in range(first_layer, decoder.shape.n_layers):
        for name, (rows, columns) in sizes(decoder.shape).items():
            made[key(layer, name, "a")] = torch.randn(rank, columns, generator=rng) / columns**0.5
            made[key(layer, name, "b")] = torch.zeros(rows, rank)
    hidden = decoder.shape.hidden_size
    made |= {"head.weight": torch.zeros(classes, hidden), "head.bias": torch.zeros(classes)}
    for part in ("start", "end"):
        made[f"{part}.query"] = torch.randn(POINTER, hidden, generator=rng) / hidden**0.5 / 4
        made[f"{part}.key"] = torch.randn(POINTER, hidden, generator=rng) / hidden**0.5 / 4
        made[f"{part}.bias"] = torch.zeros(hidden)
    return made


class Trainee:
    """A decoder with updates that gradients reach; the decoder's own weights stay as they are."""

    def __init__(self, decoder: Decoder, parameters: dict[str, Tensor], factor: float, drop: float) -> None:
        self.decoder, self.parameters, self.factor, self.drop = decoder, parameters, factor, drop
        self.weights = [{n: w.to(decoder.dtype) for n, w in layer.items()} for layer in dense(decoder)]
        self.training = True

    def hidden(self, laid: Tree) -> Tensor:
        """Hidden states [rows, hidden] in fp32, after the last norm."""
        d = self.decoder
        cos, sin = d.cos[laid.positions].to(d.dtype), d.sin[laid.positions].to(d.dtype)
        bias = torch.zeros(laid.mask.shape, dtype=d.dtype).masked_fill_(~laid.mask, -torch.inf)
        x = d.embedding[laid.ids].float()
        for index, layer in enumerate(d.layers):
            heads = self._linear(index, "qkv", _normed(layer.attn_norm, x, d.dtype))
            x = x + self._linear(index, "out", self._attention(heads, cos, sin, bias))
            gate, up = self._linear(index, "gate_up", _normed(layer.mlp_norm, x, d.dtype)).chunk(2, -1)
            x = x + self._linear(index, "down", F.silu(gate) * up)
        return _normed(d.norm, x, torch.float32)

    def _linear(self, index: int, name: str, x: Tensor) -> Tensor:
        plain = F.linear(x, self.weights[index][name])
        if key(index, name, "a") not in self.parameters:
            return plain
        a, b = (self.parameters[key(index, name, part)].to(x.dtype) for part in ("a", "b"))
        given = F.dropout(x, self.drop) if self.training and self.drop else x
        return plain + F.linear(F.linear(given, a * self.factor), b)

    def _attention(self, flat: Tensor, cos: Tensor, sin: Tensor, bias: Tensor) -> Tensor:
        s, rows = self.decoder.shape, flat.shape[0]
        heads = flat.view(rows, s.n_heads + 2 * s.n_kv_heads, s.head_dim)
        turned, v = heads[:, : s.n_heads + s.n_kv_heads], heads[:, s.n_heads + s.n_kv_heads :]
        turned = _rotated(turned, cos, sin)
        q, k = turned[:, : s.n_heads].transpose(0, 1)[None], turned[:, s.n_heads :]
        k, v = (t.transpose(0, 1).repeat_interleave(s.group, 0)[None] for t in (k, v))
        # Written out: the fused kernel's backward pass takes twice as long on CPUs.
        weights = (q @ k.transpose(-1, -2) * s.head_dim**-0.5 + bias).softmax(-1)
        out: Tensor = weights @ v
        return out[0].transpose(0, 1).reshape(rows, -1)


def _normed(norm: Norm, x: Tensor, dtype: torch.dtype) -> Tensor:
    size = torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), norm.floor)
    return (x / size * norm.gain).to(dtype)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    rows, heads, dim = x.shape
    swapped = x.view(rows, heads, 2, dim // 2).flip(-2).reshape(rows, heads, dim)
    return x * cos + swapped * sin
