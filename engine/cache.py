"""Keys and values of sequences, and the block of memory in which running sequences lie side by side."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from engine.decoder import Shape

# Places in the block begin at multiples of so many tokens: sequences of about the same size lie evenly.
STEP = 64


# Keys are read up to a multiple of so many, whatever lies there, under a mask.
ALIGNED = 16


def padded(n: int) -> int:
    """How many tokens are read where n are known."""
    return -(-n // ALIGNED) * ALIGNED


class KVCache:
    """Keys and values of one sequence, reserved: [n_layers, padded(capacity), 2 n_kv_heads, head_dim].

    What isn't written yet holds zeros or old values, never NaN: it is read under a mask, and 0 times it must stay 0.
    """

    __slots__ = ("arena", "capacity", "data", "length", "start")

    def __init__(self, data: Tensor, capacity: int, arena: Arena | None = None, start: int = 0) -> None:
        self.data, self.capacity, self.arena, self.start = data, capacity, arena, start
        self.length = 0

    @property
    def n_bytes(self) -> int:
        """Bytes of its tokens."""
        return self.data[:, : self.capacity].nbytes

    def truncate(self, length: int) -> None:
        """Forgets everything from position `length` on."""
        self.length = min(self.length, length)

    def copy_from(self, other: KVCache, length: int) -> None:
        """Takes over the first `length` positions of another sequence."""
        self.data[:, :length] = other.data[:, :length]
        self.length = length


class Arena:
    """One block for all running sequences, so that those at even distances are read by one call.

    Its memory is taken from the system only as sequences fill it.
    """

    def __init__(self, shape: Shape, n_tokens: int, dtype: torch.dtype, device: torch.device) -> None:
        size = (shape.n_layers, padded(n_tokens), 2 * shape.n_kv_heads, shape.head_dim)
        self.n_tokens = n_tokens
        self.data = (
            _zeros(size, dtype) if device.type == "cpu" else torch.zeros(size, dtype=dtype, device=device)
        )
        self._taken: list[tuple[int, int]] = []

    def take(self, capacity: int) -> KVCache | None:
        """The first free place for so many tokens; None where there is none now."""
        start = 0
        for taken, stop in [*self._taken, (self.n_tokens, self.n_tokens)]:
            if start + capacity <= taken:
                self._taken = sorted([*self._taken, (start, start + capacity)])
                place = self.data[:, start : start + padded(capacity)]
                return KVCache(place, capacity, self, start)
            start = -(-stop // STEP) * STEP
        return None

    def give_back(self, cache: KVCache) -> None:
        """Frees the place of a cache."""
        self._taken.remove((cache.start, cache.start + cache.capacity))

    def evenly(self, start: int, gap: int, count: int, length: int) -> Tensor:
        """`count` stretches of `length` tokens, `gap` apart: [n_layers, count, length, 2 n_kv_heads, head_dim]."""
        layer, token, head, one = self.data.stride()
        layers, _, heads, dim = self.data.shape
        return self.data.as_strided(
            (layers, count, length, heads, dim), (layer, gap * token, token, head, one), start * token
        )


def _zeros(size: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Zeros that take no memory before they are written: `torch.zeros` would touch every page."""
    count = torch.Size(size).numel()
    block = mmap.mmap(-1, max(count, 1) * dtype.itemsize)
    return torch.frombuffer(block, dtype=dtype, count=count).view(size)
