"""The prefix cache: keys and values of earlier prompts, so that a shared beginning is prefilled once.

The key is everything that changes keys and values: the token ids and the adapter (one engine holds one model
in one
format). Hits are whole chunks, so the remaining chunks are computed exactly as without a hit: the output is
the same to
the bit. What lies here counts as KV memory and is given up, oldest first, when a request needs the room.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]


@dataclass(slots=True)
class Source:
    """Tokens whose keys and values are known: ids[i] lies at position i of the cache."""

    ids: Ids
    adapter: str | None
    cache: Any

    @property
    def length(self) -> int:
        """Positions that are filled."""
        return min(int(self.cache.length), len(self.ids))


def common_prefix(a: Ids, b: Ids) -> int:
    """How many leading ids are equal."""
    size = min(len(a), len(b))
    differs = np.flatnonzero(a[:size] != b[:size])
    return int(differs[0]) if differs.size else size


class PrefixCache:
    """Compact copies of finished sequences, least recently used first."""

    def __init__(self, chunk: int, limit_bytes: int) -> None:
        self.chunk, self.limit_bytes = chunk, limit_bytes
        self.entries: OrderedDict[int, Source] = OrderedDict()
        self.n_bytes = 0
        self.hits = 0
        self.hit_tokens = 0
        self._next = 0

    def find(
        self, ids: Sequence[int], adapter: str | None, have: int, running: Iterable[Source]
    ) -> tuple[Source, int] | None:
        """The source with the longest usable prefix and its length in tokens, more than `have`; None without
        one.

        The last token of a prompt is always computed: its logits are needed, and the request's own mask and
        sampler
        choose from them.
        """
        wanted = np.asarray(ids, dtype=np.int64)
        most = (len(ids) - 1) // self.chunk * self.chunk
        best, best_key, best_source = have, None, None
        stored = [(key, source) for key, source in self.entries.items()]
        for key, source in [*stored, *((None, s) for s in running)]:
            if source.adapter != adapter:
                continue
            usable = min(common_prefix(wanted, source.ids[: source.length]) // self.chunk * self.chunk, most)
            if usable > best:
                best, best_key, best_source = usable, key, source
        if best_source is None:
            return None
        if best_key is not None:
            self.entries.move_to_end(best_key)
        self.hits += 1
        self.hit_tokens += best - have
        return best_source, best

    def keep(self, source: Source, compact: Any) -> None:
        """Stores a finished sequence unless it adds nothing; replaces entries that it extends.

        `compact(cache, length)` copies the whole chunks out of the request's roomy cache.
        """
        length = source.length // self.chunk * self.chunk
        if length == 0:
            return
        ids = source.ids[:length]
        for key, other in list(self.entries.items()):
            if other.adapter != source.adapter:
                continue
            shared = common_prefix(ids, other.ids)
            if shared == length:
                self.entries.move_to_end(key)
                return
            if shared == len(other.ids):
                self._drop(key)
        cache = compact(source.cache, length)
        if cache.n_bytes > self.limit_bytes:
            return
        self.make_room(self.limit_bytes - cache.n_bytes)
        self.entries[self._next] = Source(ids.copy(), source.adapter, cache)
        self._next += 1
        self.n_bytes += cache.n_bytes

    def make_room(self, at_most: int) -> None:
        """Drops the least recently used entries until at most so many bytes are held."""
        while self.entries and self.n_bytes > max(at_most, 0):
            self._drop(next(iter(self.entries)))

    def _drop(self, key: int) -> None:
        self.n_bytes -= self.entries.pop(key).cache.n_bytes
