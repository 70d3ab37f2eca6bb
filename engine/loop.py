"""The batching loop: one thread owns the model; requests join and leave between steps."""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import numpy as np
import torch

from engine.active import Active, ending
from engine.cache import KVCache
from engine.decoder import Decoder
from engine.decoding import accept, decode, drafted
from engine.errors import EngineClosed
from engine.handle import Handle
from engine.limits import Limits, piece
from engine.linear import INT4_ROWS
from engine.prefix import PrefixCache, Source

log = logging.getLogger(__name__)
T = TypeVar("T")

__all__ = ["Handle", "Loop"]


class Loop:
    """Continuous batching with chunked prefill and admission by KV memory, first come first served."""

    def __init__(self, decoder: Decoder, limits: Limits) -> None:
        self.decoder, self.limits = decoder, limits
        self.inbox: queue.SimpleQueue[Active | None] = queue.SimpleQueue()
        self.errands: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self.waiting: deque[Active] = deque()
        self.active: list[Active] = []
        self.arena = decoder.new_arena(limits.kv_bytes)
        self.prefix = PrefixCache(limits.chunk, min(limits.prefix_bytes, limits.kv_bytes))
        self.closed = False
        # What is handed over before the flag turns is still seen by the thread's last look.
        self._gate = threading.Lock()
        self.steps = 0
        self.tokens = 0
        self.busy_batch: deque[int] = deque(maxlen=256)
        self._thread = threading.Thread(target=self._run, name="engine-loop", daemon=True)
        self._thread.start()

    def submit(self, item: Active) -> None:
        """Hands a request over; raises `EngineClosed` after `close`."""
        with self._gate:
            if self.closed:
                raise EngineClosed
            self.inbox.put(item)

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Has the loop's thread do something with the model between two steps; errors go to the caller.

        Raises `EngineClosed` after `close`.
        """
        promise: Future[T] = Future()
        with self._gate:
            if self.closed:
                raise EngineClosed
            self.errands.put((work, promise))
        self.wake()
        return promise

    def wake(self) -> None:
        """Makes an idle loop look again (a cancel is a flag, this is the nudge)."""
        self.inbox.put(None)

    def close(self) -> None:
        """Ends every request as cancelled and stops the thread."""
        self._shut()
        self.wake()
        self._thread.join(timeout=60)

    def _shut(self) -> None:
        with self._gate:
            self.closed = True

    @property
    def kv_in_use(self) -> int:
        """Bytes reserved by running requests."""
        return sum(a.cache.n_bytes for a in self.active if a.cache is not None)

    def _run(self) -> None:
        try:
            while not self.closed:
                self._guarded_turn()
        finally:
            # Whatever ends the thread, nobody waits for it and nothing more is taken.
            self._shut()
            for item in [*self.active, *self.waiting, *self._drain()]:
                item.finish("cancelled")
            self.active.clear()
            while not self.errands.empty():
                self.errands.get()[1].set_exception(EngineClosed())

    def _guarded_turn(self) -> None:
        """A fault that belongs to no request ends those that run (those that wait when none runs), never the loop."""
        try:
            self._turn()
        except Exception as error:
            log.exception("a turn of the loop failed")
            # With nobody to end, the same fault would come back for ever.
            for item in self.active or self.waiting:
                item.fail(error)
            self._drop_finished()

    def _turn(self) -> None:
        self._take_inbox()
        self._drop_cancelled()
        self._run_errand()
        self._admit()
        self._prefill()
        self._decode_all()
        self._drop_finished()

    def _run_errand(self) -> None:
        """One a step, so that errands and requests take turns."""
        if self.errands.empty():
            return
        work, promise = self.errands.get()
        if not promise.set_running_or_notify_cancel():
            return
        try:
            promise.set_result(work())
        except BaseException as error:
            # Whoever asked hears of it even when it ends the thread.
            promise.set_exception(error)
            if not isinstance(error, Exception):
                raise

    def _drain(self) -> list[Active]:
        found = []
        while not self.inbox.empty():
            if (item := self.inbox.get()) is not None:
                found.append(item)
        return found

    def _take_inbox(self) -> None:
        """Moves new requests to the queue; sleeps only when there is nothing else to do."""
        idle = not self.active and not self.waiting and self.errands.empty()
        if idle and (item := self.inbox.get()) is not None:
            self.waiting.append(item)
        self.waiting.extend(self._drain())

    def _drop_cancelled(self) -> None:
        for item in [*self.active, *self.waiting]:
            if item.handle.cancelled:
                item.finish("cancelled")
        self._drop_finished()

    def _drop_finished(self) -> None:
        for item in self.active:
            if item.finished and item.cache is not None:
                self._release(item, item.cache)
        self.active = [a for a in self.active if not a.finished]
        if any(w.finished for w in self.waiting):
            self.waiting = deque(w for w in self.waiting if not w.finished)

    def _release(self, item: Active, cache: KVCache) -> None:
        """Gives the KV memory back; a copy for later requests is kept where there is room for it."""
        try:
            self._keep(item)
        except Exception:
            log.exception("the prefix of request %s was not kept", item.request.id)
        item.cache = None
        if self.arena:
            self.arena.give_back(cache)

    def _admit(self) -> None:
        """Lets the oldest waiting requests in while their KV memory fits.

        Nobody overtakes: no request starves.
        """
        free = self.limits.kv_bytes - self.kv_in_use
        while self.waiting and len(self.active) < self.limits.max_batch:
            needed = self.waiting[0].capacity * self.decoder.kv_bytes_per_token
            if needed > free:
                return
            item = self.waiting[0]
            with ending(item):
                cache = self._new_cache(item.capacity)
                if cache is None:
                    return
            self.waiting.popleft()
            if item.finished:
                continue
            item.kv_bytes_per_token = self.decoder.kv_bytes_per_token
            item.admit(cache)
            self.active.append(item)
            free -= needed
            # What the prefix cache holds is lent: it gives way to running requests.
            self.prefix.make_room(free)

    def _new_cache(self, capacity: int) -> KVCache | None:
        """A place for a sequence; None while no gap between the others is large enough."""
        return self.arena.take(capacity) if self.arena else self.decoder.new_cache(capacity)

    def _prefill(self) -> None:
        """A piece of one prompt, or the ends of several: little while others decode, so that nobody stalls for long."""
        pieces = self._pieces()
        if pieces:
            with ending(*(item for item, _ in pieces)):
                self._compute(pieces)

    def _compute(self, pieces: list[tuple[Active, int]]) -> None:
        ids = [token for item, size in pieces for token in item.remaining_prompt[:size]]
        segments = [item.segment(item.cache, size) for item, size in pieces if item.cache is not None]
        hidden = self.decoder.forward(torch.tensor(ids, device=self.decoder.device), segments)
        last = [sum(size for _, size in pieces[: n + 1]) - 1 for n in range(len(pieces))]
        ready = [n for n, (item, _) in enumerate(pieces) if not item.remaining_prompt]
        if ready:
            logits = self.decoder.logits(hidden[[last[n] for n in ready]])
            for n, row in zip(ready, logits, strict=True):
                self.tokens += accept(pieces[n][0], row)

    def _pieces(self) -> list[tuple[Active, int]]:
        """Which requests, in turn, compute how many prompt tokens in this step.

        The first takes what it can; others join with less than a chunk left, which no two of them can share. A last few
        rows are computed by themselves: other kernels take them.
        """
        chunk, waiting = self.limits.chunk, [a for a in self.active if a.prefilling and not a.finished]
        room = self.limits.chunk_alone if len(waiting) == len(self.active) else chunk
        found: list[tuple[Active, int]] = []
        for item in waiting:
            if found and not INT4_ROWS < len(item.remaining_prompt) <= min(room, chunk):
                continue
            self._begin(item)
            if item.finished:
                continue
            size = piece(len(item.remaining_prompt), room, chunk)
            found.append((item, size))
            room -= size
            if room <= 0 or size <= INT4_ROWS:
                break
        return found

    def _begin(self, item: Active) -> None:
        """Takes its turn: others come first the next time."""
        self.active.remove(item)
        self.active.append(item)
        with ending(item):
            self._reuse(item)
            item.announce()

    def _source(self, item: Active) -> Source:
        adapter = item.adapter.key if item.adapter else None
        return Source(np.asarray(item.prompt_ids + item.history.output), adapter, item.cache)

    def _reuse(self, item: Active) -> None:
        """Takes over what another request, finished or running, has computed of the same beginning."""
        if item.cache is None or self.limits.prefix_bytes == 0:
            return
        others = [self._source(a) for a in self.active if a is not item and a.cache is not None]
        found = self.prefix.find(
            item.prompt_ids, item.adapter.key if item.adapter else None, item.cache.length, others
        )
        if found:
            source, length = found
            item.cached_tokens += length - item.cache.length
            item.cache.copy_from(source.cache, length)

    def _keep(self, item: Active) -> None:
        if item.cache is not None and self.limits.prefix_bytes:
            self.prefix.keep(self._source(item), self._compact)

    def _compact(self, cache: KVCache, length: int) -> KVCache:
        small = self.decoder.new_cache(length)
        small.copy_from(cache, length)
        return small

    def _decode_all(self) -> None:
        """One token, or an accepted draft and one, for every request that has its first one."""
        batch = [a for a in self.active if not a.prefilling and not a.finished and a.cache is not None]
        # Neighbours in memory stand side by side, so that one call can read several.
        batch.sort(key=lambda a: getattr(a.cache, "start", 0))
        wanted = drafted(batch)
        if wanted:
            self.steps += 1
            self.busy_batch.append(len(wanted))
        self.tokens += decode(self.decoder, wanted, self.limits.max_rows)
