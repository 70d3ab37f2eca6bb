"""Attention of new rows over the caches of their sequences, query heads sharing keys in groups (GQA, arXiv 2305.13245).

Few rows (of several sequences, or a token with its drafts) go through torch's kernel row by row, each with its mask; a
piece of a prompt goes in blocks. In bf16 on a CPU a row's result has the same bits whatever else is computed with it: the
keys read are always a multiple of 16, and what is masked adds exact zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.arranged import arranges_bf16
from engine.cache import padded

if TYPE_CHECKING:
    from engine.decoder import Segment, Shape

# A segment of at most so many rows is a token with its drafts.
FEW_ROWS = 8
# Rows of a prompt taken together: their scores over all keys stay in a core's cache. Blocks begin at multiples of it
# in the sequence, so the arithmetic doesn't depend on where a prompt was cut into pieces.
BLOCK = 128
# Sequences read by one call may differ by so many tokens: the shorter ones' rows are computed to the longest's end.
SPREAD = 256


@dataclass(slots=True)
class Views:
    """The caches that one call reads, a tensor a layer: keys and values [sequences or rows, n_kv, n, head_dim].

    Several sequences give one new row each, a single one gives `rows`. `mask` [rows, 1, 1, n] hides what a row may not
    see; None for a piece of a prompt. `ends` says where in `stored` new rows go; None where they are all of it.
    """

    rows: int
    past: int
    stored: tuple[Tensor, ...]
    ends: tuple[Tensor, Tensor] | None
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    mask: Tensor | None

    def write(self, index: int, new: Tensor) -> None:
        """Stores keys and values [rows, 2 n_kv, head_dim] of the new rows."""
        if self.ends is None:
            self.stored[index].copy_(new)
        else:
            self.stored[index].index_put_(self.ends, new.to(self.stored[index].dtype))

    def attend(self, index: int, q: Tensor) -> Tensor:
        """q [rows, n_kv, group, head_dim] -> the same shape."""
        k, v = self.keys[index].to(q.dtype), self.values[index].to(q.dtype)
        if self.mask is not None:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask.to(q.dtype))
        short = self.past == 0 and self.rows <= BLOCK // 2
        if q.dtype == torch.bfloat16 and q.device.type == "cpu" and not short:
            return _blocks(q, k[0], v[0], self.past)
        return _fused(q, k[0], v[0], self.past)


def views_of(segments: Sequence[Segment], n_kv: int, *, together: bool = True) -> list[Views]:
    """Slices of the caches for every layer at once: slicing again in each layer would cost more."""
    runs = _runs(segments) if together else [[s] for s in segments]
    return [_one(run[0], n_kv) if len(run) == 1 else _several(run, n_kv) for run in runs]


def _runs(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Neighbours that can be read by one call, in the order given."""
    runs: list[list[Segment]] = []
    for segment in segments:
        if runs and _joins(runs[-1], segment):
            runs[-1].append(segment)
        else:
            runs.append([segment])
    return runs


def _joins(run: Sequence[Segment], segment: Segment) -> bool:
    """True for single rows in one arena, at even distances, of lengths that are not too different."""
    first, last, own = run[0].cache, run[-1].cache, segment.cache
    if segment.length != 1 or run[0].length != 1 or own.arena is None or own.arena is not first.arena:
        return False
    gap = own.start - last.start
    even = gap > 0 and (len(run) == 1 or gap == run[1].cache.start - first.start)
    longest = max(s.cache.length for s in [*run, segment]) + 1
    alike = longest - min(s.cache.length for s in [*run, segment]) <= SPREAD
    return even and alike and own.start + padded(longest) <= own.arena.n_tokens


def _one(segment: Segment, n_kv: int) -> Views:
    past, new = segment.cache.length, segment.length
    data = segment.cache.data
    written = data[:, past : past + new].unbind(0)
    if new > FEW_ROWS:
        return Views(new, past, written, None, *_lanes(data[:, None, : past + new], n_kv), None)
    # Each draft is a row of its own over the same keys: checking it gives the very same bits as a step without drafts.
    lengths = torch.arange(past, past + new, device=data.device)
    n = padded(past + new)
    keys, values = _lanes(data[:, None, :n].expand(-1, new, -1, -1, -1), n_kv)
    return Views(new, past, written, None, keys, values, _mask(lengths, n, data.dtype))


def _several(run: Sequence[Segment], n_kv: int) -> Views:
    caches = [segment.cache for segment in run]
    first, second = caches[:2]
    assert first.arena is not None
    lengths = torch.tensor([cache.length for cache in caches], device=first.data.device)
    n = padded(max(cache.length for cache in caches) + 1)
    stored = first.arena.evenly(first.start, second.start - first.start, len(run), n)
    ends = (torch.arange(len(run), device=lengths.device), lengths)
    keys, values = _lanes(stored, n_kv)
    return Views(len(run), n - 1, stored.unbind(0), ends, keys, values, _mask(lengths, n, stored.dtype))


def _mask(last: Tensor, n: int, dtype: torch.dtype) -> Tensor:
    """0 up to each row's last position, -inf beyond: [rows, 1, 1, n]."""
    beyond = torch.arange(n, device=last.device) > last[:, None]
    mask = torch.zeros(beyond.shape, dtype=dtype, device=last.device)
    return mask.masked_fill_(beyond, -torch.inf)[:, None, None]


def _lanes(stored: Tensor, n_kv: int) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Keys and values [sequences, n_kv, n, head_dim] of each layer."""
    lanes = stored.transpose(2, 3)
    return lanes[:, :, :n_kv].unbind(0), lanes[:, :, n_kv:].unbind(0)


def attend(shape: Shape, index: int, heads: Tensor, views: Sequence[Views]) -> Tensor:
    """Writes the new keys and values of layer `index` and attends -> [rows, n_heads head_dim].

    `heads` [rows, n_heads + 2 n_kv, head_dim] holds queries, keys and values, the segments one after another.
    """
    queries, new = torch.split(heads, [shape.n_heads, 2 * shape.n_kv_heads], 1)
    # The query heads of a group stand as rows of one product with the keys they share.
    grouped = queries.view(-1, shape.n_kv_heads, shape.group, shape.head_dim)
    # Without bf16 products torch's bf16 loops take many times as long as fp32.
    slow = heads.dtype == torch.bfloat16 and heads.device.type == "cpu" and not arranges_bf16()
    found, row = [], 0
    for view in views:
        view.write(index, new[row : row + view.rows])
        q = grouped[row : row + view.rows]
        found.append(view.attend(index, q.float()).to(q.dtype) if slow else view.attend(index, q))
        row += view.rows
    return (found[0] if len(found) == 1 else torch.cat(found)).flatten(1)


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


@lru_cache(maxsize=BLOCK)
def _later(size: int) -> Tensor:
    """True where column > row."""
    return torch.ones(size, size, dtype=torch.bool).triu_(1)
