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
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from engine import alternatives, sampling
from engine.adapters import Adapter
from engine.cache import KVCache
from engine.constraints import Constraint, Matcher, parse
from engine.decoder import Segment
from engine.errors import EngineError
from engine.speculation import PromptLookup
from engine.stream import TextStream
from engine.tokenizer import ModelTokenizer
from engine.types import (
    Event,
    FinishEvent,
    FinishReason,
    Request,
    Result,
    StartEvent,
    StepSeen,
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
        constraint: Constraint | None = None,
        matcher: Matcher | None = None,
        adapter: Adapter | None = None,
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
        self.constraint, self.matcher, self.adapter = constraint, matcher, adapter
        self.lookup = None if request.speculate == 0 else PromptLookup(prompt_ids, request.speculate)
        self.kv_bytes_per_token = 0
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

    def segment(self, cache: KVCache, length: int) -> Segment:
        """New tokens of this request, with its adapter."""
        return Segment(cache, length, self.adapter.updates if self.adapter else None)

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

    def draft(self) -> list[int]:
        """Tokens worth checking after the last one, none of which the grammar would refuse."""
        left = self.max_tokens - len(self.history.output) - 1
        found = self.lookup.draft(left) if self.lookup else []
        return found[: self.matcher.admissible(found)] if self.matcher and found else found

    def accept(self, logits: Tensor) -> int:
        """Chooses the next token from this request's own logits [vocab], emits it, and ends what must end."""
        steps = self._shaping()
        shaped = sampling.apply(logits, steps)
        token = sampling.choose(shaped, self.request.sampling, self.rng)
        event = self._seen(token, logits, shaped, steps)
        now = time.perf_counter()
        if self.prefilled_at is None:
            self.prefilled_at = now
        self.token_times.append(now)
        self.history.add(token)
        if self.lookup:
            self.lookup.add(token)
        text, reason = self._read(token)
        index, at_ms = len(self.history.output) - 1, 1000 * (now - self.submitted_at)
        self.handle.put(replace(event, index=index, text=text, at_ms=at_ms))
        if reason:
            self.finish(reason)
        return token

    def _shaping(self) -> list[sampling.Step]:
        """Penalties, then the grammar's mask: what changes logits before the filters."""
        steps = sampling.penalty_steps(self.request.sampling, self.history)
        if self.matcher:
            allowed = self.matcher.allowed()
            steps.append(("constraint", lambda x: x.masked_fill(~allowed.to(x.device), -torch.inf)))
        return steps

    def _read(self, token: int) -> tuple[str, FinishReason | None]:
        """The text a token releases and why the output ends with it, if it does."""
        if token in self.tokenizer.eos_ids:
            return self._last("", "stop")
        text = self.stream.push(token)
        if self.stream.stopped:
            return text, "stop_string"
        if self.matcher:
            self.matcher.consume(token)
            if self.matcher.complete:
                return self._last(text, "stop")
            self.matcher.prepare()
        if len(self.history.output) >= self.max_tokens:
            return self._last(text, "length")
        return text, None

    def _last(self, text: str, reason: FinishReason) -> tuple[str, FinishReason]:
        text += self.stream.finish()
        return text, "stop_string" if self.stream.stopped else reason

    def _seen(self, token: int, raw: Tensor, shaped: Tensor, steps: list[sampling.Step]) -> TokenEvent:
        """What the request wants to see of this choice; index, text and time are filled in later."""
        count = self.request.sampling.logprobs
        if not count:
            return TokenEvent(0, token, "", None, None, (), 0.0)
        log_p = raw.log_softmax(-1)
        entropy = float(-(log_p.exp() * log_p).nansum())
        seen = [
            *alternatives.stages(raw, steps),
            *alternatives.stages(shaped, alternatives.choosing_steps(self.request.sampling)),
        ]
        ids = torch.topk(raw, min(count, raw.shape[-1])).indices.tolist()
        ids += [] if token in ids else [token]
        masked = None
        if self.matcher:
            free = sampling.apply(raw, steps[:-1]).softmax(-1)
            masked = float(free[shaped == -torch.inf].sum())
        found = tuple(alternatives.alternative(i, self.tokenizer.label(i), log_p, seen) for i in ids)
        kept = tuple(StepSeen(stage.name, stage.kept) for stage in seen)
        return TokenEvent(0, token, "", float(log_p[token]), entropy, found, 0.0, masked, kept)

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
        parsed = None
        if self.constraint and reason in ("stop", "stop_string", "length"):
            parsed, reason, error = self._parse(self.constraint, reason)
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
            parsed=parsed,
            stats=self._stats(),
        )
        self.handle.put(FinishEvent(result))

    def _parse(
        self, constraint: Constraint, reason: FinishReason
    ) -> tuple[Any, FinishReason, dict[str, str] | None]:
        """The output's value; a truncated output has none, one that is wrong after all ends in an error."""
        whole = self.matcher is not None and self.matcher.accepting
        self.stats["constraint"] = {"kind": constraint.kind, "valid": whole, "truncated": not whole}
        if not whole:
            return None, reason, None
        try:
            return parse(constraint, self.stream.text), reason, None
        except EngineError as error:
            self.stats["constraint"]["valid"] = False
            return None, "error", error.to_dict()

    def _stats(self) -> dict[str, Any]:
        sizes = self.batch_sizes
        return {
            **self.stats,
            **self._costs(),
            "batch_size_mean": statistics.fmean(sizes) if sizes else None,
            "batch_size_max": max(sizes, default=None),
        }

    def _costs(self) -> dict[str, Any]:
        """KV memory used and reserved, drafts, and the time masks took."""
        found: dict[str, Any] = {
            "kv_bytes_used": self.kv_bytes_per_token * (self.cache.length if self.cache else 0),
            "kv_bytes_reserved": self.kv_bytes_per_token * self.capacity,
        }
        if self.lookup:
            found["speculation"] = {"proposed": self.lookup.proposed, "accepted": self.lookup.accepted}
        if self.matcher:
            found["mask_ms"] = 1000 * self.matcher.mask_seconds
            found["masks"] = self.matcher.masks
        return found

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
