"""Attention of new rows over the caches of their sequences, query heads sharing keys in groups (GQA, arXiv 2305.13245).

Three cases, for speed alone: one row of each of several sequences, a token with its drafts, and a piece of a prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from engine.decoder import Segment, Shape

# A segment of at most so many rows is a token with its drafts.
FEW_ROWS = 8
# Rows of a prompt taken together: their scores over all keys stay in a core's cache. Blocks begin at multiples of it
# in the sequence, so the arithmetic doesn't depend on where a prompt was cut into pieces.
BLOCK = 128


@dataclass(slots=True)
class Views:
    """One segment's part of the cache, a tensor a layer: where to write [new, 2 n_kv, head_dim], and keys and
    values [1, n_kv, n, head_dim].
    """

    new: int
    past: int
    written: tuple[Tensor, ...]
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]


def views_of(segment: Segment, n_kv: int) -> Views:
    """Slices of the cache for every layer at once: slicing again in each layer would cost more."""
    past, new = segment.cache.length, segment.length
    rows = segment.cache.data[:, : past + new]
    lanes = rows.transpose(1, 2)[:, None]
    return Views(
        new=new,
        past=past,
        written=rows[:, past:].unbind(0),
        keys=lanes[:, :, :n_kv].unbind(0),
        values=lanes[:, :, n_kv:].unbind(0),
    )


def attend(shape: Shape, index: int, heads: Tensor, views: Sequence[Views]) -> Tensor:
    """Writes the new keys and values of layer `index` and attends -> [rows, n_heads head_dim].

    `heads` [rows, n_heads + 2 n_kv, head_dim] holds queries, keys and values, the segments one after another.
    """
    sizes = [view.new for view in views]
    queries, new = torch.split(heads, [shape.n_heads, 2 * shape.n_kv_heads], 1)
    torch._foreach_copy_([view.written[index] for view in views], torch.split(new, sizes))
    # The query heads of a group stand as rows of one product with the keys they share.
    grouped = queries.view(-1, shape.n_kv_heads, shape.group, shape.head_dim)
    found = [
        _segment(q, view.keys[index], view.values[index], view.past)
        for q, view in zip(torch.split(grouped, sizes), views, strict=True)
    ]
    return (found[0] if len(found) == 1 else torch.cat(found)).flatten(1)


def _segment(q: Tensor, k: Tensor, v: Tensor, past: int) -> Tensor:
    """q [new, n_kv, group, head_dim] over k, v [1, n_kv, past + new, head_dim] -> as q."""
    new = q.shape[0]
    if new == 1:
        return F.scaled_dot_product_attention(q, k, v)
    if new <= FEW_ROWS:
        # Row by row, as without drafts: checking a draft then gives the very same bits.
        seen = range(past + 1, past + new + 1)
        return torch.cat(
            [
                F.scaled_dot_product_attention(row, k[:, :, :n], v[:, :, :n])
                for row, n in zip(torch.split(q, 1), seen, strict=True)
            ]
        )
    if q.dtype == torch.bfloat16 and q.device.type == "cpu":
        return _blocks(q, k[0], v[0], past)
    return _fused(q, k[0], v[0], past)


def _fused(q: Tensor, k: Tensor, v: Tensor, past: int) -> Tensor:
    """torch's own kernel; sharing keys within a group is a stride of 0, not a copy."""
    new, _, group, _ = q.shape
    shared_k, shared_v = (t[:, None].expand(-1, group, -1, -1) for t in (k, v))
    mask = None
    if past:
        allowed = torch.ones(new, past + new, dtype=torch.bool, device=q.device).tril_(past)
        mask = torch.zeros(new, past + new, dtype=q.dtype, device=q.device).masked_fill_(~allowed, -torch.inf)
    rows = q.permute(1, 2, 0, 3)
    out = F.scaled_dot_product_attention(rows, shared_k, shared_v, attn_mask=mask, is_causal=mask is None)
    return out.permute(2, 0, 1, 3)


def _blocks(q: Tensor, k: Tensor, v: Tensor, past: int) -> Tensor:
    """Block by block with two matrix products, and no work on keys that a whole block can't see.

    On a CPU in bf16 this takes two thirds of the time of torch's kernel (9 ms for 1,024 rows instead of 13).
    """
    new, n_kv, group, dim = q.shape
    out = torch.empty(q.shape, dtype=q.dtype)
    start = 0
    while start < new:
        stop = min(new, (past + start) // BLOCK * BLOCK + BLOCK - past)
        size, seen = stop - start, past + stop
        rows = q[start:stop].permute(1, 2, 0, 3).reshape(n_kv, group * size, dim)
        scores = torch.baddbmm(
            rows.new_empty(()), rows, k[:, :seen].transpose(1, 2), beta=0, alpha=dim**-0.5
        ).view(n_kv, group, size, seen)
        scores[..., past + start :].masked_fill_(_later(size), -torch.inf)
        mixed = torch.bmm(scores.softmax(-1).view(n_kv, -1, seen), v[:, :seen])
        out[start:stop] = mixed.view(n_kv, group, size, dim).permute(2, 0, 1, 3)
        start = stop
    return out


def _later(size: int) -> Tensor:
    """True where column > row."""
    return torch.ones(size, size, dtype=torch.bool).triu_(1)
