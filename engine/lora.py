"""Low-rank updates of a decoder's matrices (Hu et al. 2021, arXiv 2106.09685).

W x becomes W x + (alpha / r) B A x with A [r, in] and B [out, r]. The matrices are the decoder's fused ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.arranged import dense_product

if TYPE_CHECKING:
    from engine.decoder import Decoder, Segment, Shape
    from engine.linear import Linear

MATRICES = ("qkv", "out", "gate_up", "down")


@dataclass(slots=True)
class Low:
    """One update: `a` [r, in], `b` [out, r] with the factor alpha / r already in it."""

    a: Tensor
    b: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """B A x in the type of x."""
        return dense_product(dense_product(x, self.a.to(x.dtype)), self.b.to(x.dtype))


Updates = list[dict[str, Low]]


def sizes(shape: Shape) -> dict[str, tuple[int, int]]:
    """Rows out and in of each fused matrix."""
    heads = (shape.n_heads + 2 * shape.n_kv_heads) * shape.head_dim
    return {
        "qkv": (heads, shape.hidden_size),
        "out": (shape.hidden_size, shape.n_heads * shape.head_dim),
        "gate_up": (2 * shape.intermediate_size, shape.hidden_size),
        "down": (shape.hidden_size, shape.intermediate_size),
    }


def key(layer: int, name: str, part: str) -> str:
    """The tensor's name in an adapter file."""
    return f"layers.{layer}.{name}.{part}"


def updates_of(tensors: Mapping[str, Tensor], shape: Shape, factor: float, dtype: torch.dtype) -> Updates:
    """The updates in an adapter's tensors; layers without one stay as they
    are.

    Raises KeyError or ValueError where they don't fit the shape.
    """
    found: Updates = []
    for layer in range(shape.n_layers):
        found.append({})
        for name, (rows, columns) in sizes(shape).items():
            if key(layer, name, "a") not in tensors:
                continue
            a, b = tensors[key(layer, name, "a")], tensors[key(layer, name, "b")]
            if a.shape[1] != columns or b.shape[0] != rows or a.shape[0] != b.shape[1]:
                raise ValueError(
                    f"{key(layer, name, 'a')} and its b don't fit a matrix of {rows} x {columns}"
                )
            found[-1][name] = Low(a.to(dtype), (b.float() * factor).to(dtype))
    return found


@dataclass(slots=True)
class Group:
    """Rows of a batch that one adapter changes; None stands for all of them."""

    updates: Updates
    rows: Tensor | None


def groups(segments: Sequence[Segment]) -> list[Group]:
    """The rows of each adapter in a batch, however its sequences are mixed."""
    if all(s.updates is None for s in segments):
        return []
    if all(s.updates is segments[0].updates for s in segments) and segments[0].updates is not None:
        return [Group(segments[0].updates, None)]
    rows: dict[int, tuple[Updates, list[Tensor]]] = {}
    at = 0
    for segment in segments:
        if segment.updates is not None:
            _, own = rows.setdefault(id(segment.updates), (segment.updates, []))
            own.append(torch.arange(at, at + segment.length))
        at += segment.length
    return [Group(updates, torch.cat(own)) for updates, own in rows.values()]


def product(linear: Linear, x: Tensor, layer: int, name: str, changed: Sequence[Group]) -> Tensor:
    """W x for every row, and B A x on top for the rows that an adapter changes."""
    y = linear(x)
    for group in changed:
        low = group.updates[layer].get(name)
        if low is None:
            continue
        if group.rows is None:
            y += low(x)
        else:
            y[group.rows] += low(x[group.rows])
    return y


def merge(decoder: Decoder, updates: Updates) -> None:
    """Adds the updates to a dense decoder's own weights for good."""
    for layer, changes in zip(dense(decoder), updates, strict=True):
        for name, low in changes.items():
            layer[name] += (low.b.float() @ low.a.float()).to(layer[name].dtype)


def dense(decoder: Decoder) -> Iterator[dict[str, Tensor]]:
    """Each layer's matrices as dense tensors: an int4 matrix keeps one; raises TypeError for other formats."""
    for layer in decoder.layers:
        found = {}
        for name in MATRICES:
            linear = getattr(layer, name)
            weight = getattr(linear, "dense", None)
            weight = linear.weight if weight is None else weight
            if not weight.is_floating_point():
                raise TypeError("train on an int4, bf16 or fp32 decoder")
            found[name] = weight
        yield found
