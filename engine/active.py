"""The state of one request from submission to result.

Everything here is keyed by request, never by batch row.
"""

from __future__ import annotations

import queue
import random
import secrets
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from engine import sampling
from engine.decoder import KVCache
from engine.errors import EngineError
from engine.stream import TextStream
from engine.tokenizer import ModelTokenizer
from engine.types import (
    Alternative,
    Event,
    FinishEvent,
    FinishReason,
    Request,
    Result,
    StartEvent,
    TokenEvent,
)


class Handle:
    """What a caller holds: iterate it for events, cancel it, or wait for its result. Safe from any thread."""

    def __init__(self, request_id: str, wake: Callable[[], None]) -> None:
        self.id = request_id
        self.cancelled = False
        self._wake = wake
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._done = threading.Event()
        self._result: Result | None = None

    def __iter__(self) -> Iterator[Event]:
        """Events in order, each once; ends after the `FinishEvent`."""
        while True:
            if self._done.is_set() and self._events.empty():
                return
            event = self._events.get()
            yield event
            if isinstance(event, FinishEvent):
                return

    def cancel(self) -> None:
        """Asks for an end within one step; the result then says `cancelled` and keeps the text so far."""
        self.cancelled = True
        self._wake()

    def result(self, timeout: float | None = None) -> Result:
        """Waits for the end; raises `TimeoutError` after `timeout` seconds."""
        if not self._done.wait(timeout) or self._result is None:
            raise TimeoutError(f"request {self.id} is not finished after {timeout} s")
        return self._result

    def put(self, event: Event) -> None:
        """Called by the loop alone."""
        if isinstance(event, FinishEvent):
            self._result = event.result
            self._events.put(event)
            self._done.set()
        else:
            self._events.put(event)


class Active:
    """One request inside the loop."""

    def __init__(
        self,
        request: Request,
        prompt_ids: list[int],
        rendered: str,
        handle: Handle,
        tokenizer: ModelTokenizer,
        max_tokens: int,
    ) -> None:
        self.request, self.prompt_ids, self.rendered, self.handle = request, prompt_ids, rendered, handle
        self.tokenizer, self.max_tokens = tokenizer, max_tokens
        self.history = sampling.History(prompt_ids)
        self.seed = secrets.randbits(53) if request.sampling.seed is None else request.sampling.seed
        self.rng = random.Random(self.seed)
        self.stream = TextStream(tokenizer, request.sampling.stop)
        self.cache: KVCache | None = None
        self.cached_tokens = 0
        self.submitted_at = time.perf_counter()
        self.started_at: float | None = None
        self.prefilled_at: float | None = None
        self.token_times: list[float] = []
        self.batch_sizes: list[int] = []
        self.stats: dict[str, Any] = {"seed": self.seed}
        self.announced = False
        self.finished = False

    @property
    def capacity(self) -> int:
        """Tokens of KV memory the request may need: every token but the last is fed back."""
        return len(self.prompt_ids) + self.max_tokens

    @property
    def remaining_prompt(self) -> list[int]:
        """Prompt ids that are not in the cache yet."""
        return self.prompt_ids[self.cache.length :] if self.cache else self.prompt_ids

    @property
    def prefilling(self) -> bool:
        """True until the first token was chosen."""
        return not self.history.output

    def admit(self, cache: KVCache) -> None:
        """Leaves the queue with its KV memory."""
        self.cache = cache
        self.started_at = time.perf_counter()

    def announce(self) -> None:
        """Emits the start event, once it is known what the prefix cache gave."""
        if self.announced or self.started_at is None:
            return
        self.announced = True
        self.handle.put(
            StartEvent(
                len(self.prompt_ids),
                self.rendered,
                self.cached_tokens,
                1000 * (self.started_at - self.submitted_at),
            )
        )

    def accept(self, logits: Tensor) -> int:
        """Chooses the next token from this request's own logits [vocab], emits it, and ends the request if
        it must.
        """
        s = self.request.sampling
        shaped = sampling.apply(logits, sampling.penalty_steps(s, self.history))
        token = sampling.choose(shaped, s, self.rng)
        now = time.perf_counter()
        if self.prefilled_at is None:
            self.prefilled_at = now
        self.token_times.append(now)
        self.history.add(token)
        ended = token in self.tokenizer.eos_ids
        text = "" if ended else self.stream.push(token)
        reason: FinishReason | None = None
        if ended:
            reason = "stop"
        elif self.stream.stopped:
            reason = "stop_string"
        elif len(self.history.output) >= self.max_tokens:
            reason = "length"
        if reason in ("stop", "length"):
            text += self.stream.finish()
            if self.stream.stopped:
                reason = "stop_string"
        self.handle.put(self._token_event(token, text, logits, shaped))
        if reason:
            self.finish(reason)
        return token

    def _token_event(self, token: int, text: str, raw: Tensor, shaped: Tensor) -> TokenEvent:
        index = len(self.history.output) - 1
        at_ms = 1000 * (self.token_times[-1] - self.submitted_at)
        count = self.request.sampling.logprobs
        if not count:
            return TokenEvent(index, token, text, None, None, (), at_ms)
        log_p = raw.log_softmax(-1)
        p = log_p.exp()
        entropy = float(-(p * log_p).nansum())
        kept = sampling.apply(shaped, sampling.filter_steps(self.request.sampling)).softmax(-1)
        ids = torch.topk(raw, min(count, raw.shape[-1])).indices.tolist()
        found = tuple(Alternative(i, self.tokenizer.label(i), float(p[i]), float(kept[i])) for i in ids)
        return TokenEvent(index, token, text, float(log_p[token]), entropy, found, at_ms)

    def fail(self, error: Exception) -> None:
        """Ends the request with an error; others go on."""
        code, message = "internal_error", f"{type(error).__name__}: {error}"
        if isinstance(error, EngineError):
            code, message = error.code, error.message
        self.finish("error", {"code": code, "message": message})

    def finish(self, reason: FinishReason, error: dict[str, str] | None = None) -> None:
        """Emits the result, once, and lets go of the KV memory."""
        if self.finished:
            return
        self.finished = True
        if reason in ("cancelled", "error"):
            self.stream.finish()
        output = self.history.output
        result = Result(
            text=self.stream.text,
            token_ids=tuple(output),
            finish_reason=reason,
            error=error,
            usage={
                "prompt_tokens": len(self.prompt_ids),
                "completion_tokens": len(output),
                "cached_tokens": self.cached_tokens,
            },
            timings=self._timings(),
            rendered_prompt=self.rendered,
            stats=self._stats(),
        )
        self.handle.put(FinishEvent(result))

    def _stats(self) -> dict[str, Any]:
        sizes = self.batch_sizes
        return {
            **self.stats,
            "batch_size_mean": statistics.fmean(sizes) if sizes else None,
            "batch_size_max": max(sizes, default=None),
        }

    def _timings(self) -> dict[str, float | None]:
        end = time.perf_counter()
        times = self.token_times
        gaps = sorted(1000 * (b - a) for a, b in pairwise(times))
        return {
            "queue_ms": _since(self.submitted_at, self.started_at or end),
            "prefill_ms": _since(self.started_at, self.prefilled_at),
            "ttft_ms": _since(self.submitted_at, times[0] if times else None),
            "itl_ms_p50": percentile(gaps, 0.5),
            "itl_ms_p95": percentile(gaps, 0.95),
            "itl_ms_max": gaps[-1] if gaps else None,
            "tokens_per_s": len(gaps) / (times[-1] - times[0]) if gaps else None,
            "total_ms": 1000 * (end - self.submitted_at),
        }


def _since(start: float | None, end: float | None) -> float | None:
    """Milliseconds between two clock readings, None where one is missing."""
    return None if start is None or end is None else 1000 * (end - start)


def percentile(ordered: list[float], share: float) -> float | None:
    """The nearest-rank percentile of ascending values; None when there are none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
