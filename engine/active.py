"""The state of one request from submission to result.

Everything here is keyed by request, never by batch row.
"""

from __future__ import annotations

import logging
import random
import secrets
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from engine import alternatives, sampling
from engine.adapters import Adapter
from engine.cache import KVCache
from engine.constraints import Constraint, Matcher, parse
from engine.decoder import Segment
from engine.errors import EngineError
from engine.handle import Handle
from engine.speculation import PromptLookup
from engine.stream import TextStream
from engine.timings import timings
from engine.tokenizer import ModelTokenizer
from engine.types import (
    FinishEvent,
    FinishReason,
    Request,
    Result,
    StartEvent,
    TokenEvent,
)

log = logging.getLogger(__name__)
Outcome = tuple[Any, FinishReason, dict[str, str] | None]


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
        sampling.check_choice(shaped)
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
        if not self.request.sampling.logprobs:
            return TokenEvent(0, token, "", None, None, (), 0.0)
        masking = self.matcher is not None
        return alternatives.seen(
            self.request.sampling, token, raw, shaped, steps, self.tokenizer.label, masking=masking
        )

    def fail(self, error: Exception) -> None:
        """Ends the request with an error; others go on."""
        self.finish("error", _described(error))

    def finish(self, reason: FinishReason, error: dict[str, str] | None = None) -> None:
        """Emits the result, once, whatever goes wrong on the way: somebody waits for it."""
        if self.finished:
            return
        self.finished = True
        try:
            result = self._result(*self._outcome(reason, error))
        except Exception as fault:
            log.exception("the result of request %s failed", self.request.id)
            result = Result(
                self.stream.text,
                tuple(self.history.output),
                "error",
                _described(fault),
                self._usage(),
                {},
                self.rendered,
            )
        self.handle.put(FinishEvent(result))

    def _outcome(self, reason: FinishReason, error: dict[str, str] | None) -> Outcome:
        if reason in ("cancelled", "error"):
            self.stream.finish()
        elif self.constraint:
            return self._parse(self.constraint, reason)
        return None, reason, error

    def _result(self, parsed: Any, reason: FinishReason, error: dict[str, str] | None) -> Result:
        return Result(
            text=self.stream.text,
            token_ids=tuple(self.history.output),
            finish_reason=reason,
            error=error,
            usage=self._usage(),
            timings=timings(self.submitted_at, self.started_at, self.prefilled_at, self.token_times),
            rendered_prompt=self.rendered,
            parsed=parsed,
            stats=self._stats(),
        )

    def _usage(self) -> dict[str, int]:
        return {
            "prompt_tokens": len(self.prompt_ids),
            "completion_tokens": len(self.history.output),
            "cached_tokens": self.cached_tokens,
        }

    def _parse(self, constraint: Constraint, reason: FinishReason) -> Outcome:
        """The output's value; a truncated output has none, one that is wrong after all ends in an error."""
        whole = self._whole()
        state = {"kind": constraint.kind, "valid": False, "truncated": not whole}
        self.stats["constraint"] = state
        if not whole:
            return None, reason, None
        try:
            value = parse(constraint, self.stream.text)
        except EngineError as error:
            return None, "error", error.to_dict()
        state["valid"] = True
        return value, reason, None

    def _whole(self) -> bool:
        """Whether the released text satisfies the grammar.

        The matcher has seen tokens. A stop string cuts within them, and unfinished bytes become another character.
        """
        if self.matcher is None:
            return False
        said = [token for token in self.history.output if token not in self.tokenizer.eos_ids]
        text = self.stream.text
        if text.encode() == b"".join(map(self.tokenizer.spelling, said)):
            return self.matcher.accepting
        return self.matcher.takes(self.tokenizer.encode_exactly(text))

    def _stats(self) -> dict[str, Any]:
        sizes = self.batch_sizes
        return {
            **self.stats,
            **self._costs(),
            "batch_size_mean": statistics.fmean(sizes) if sizes else None,
            "batch_size_max": max(sizes, default=None),
            "batch_sizes": [[size, len(list(steps))] for size, steps in groupby(sizes)],
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


def _described(error: Exception) -> dict[str, str]:
    if isinstance(error, EngineError):
        return {"code": error.code, "message": error.message}
    return {"code": "internal_error", "message": f"{type(error).__name__}: {error}"}


@contextmanager
def ending(*items: Active) -> Iterator[None]:
    """What goes wrong inside ends these requests and no other."""
    try:
        yield
    except Exception as error:
        log.exception("failed: %s", ", ".join(item.request.id for item in items))
        for item in items:
            item.fail(error)
