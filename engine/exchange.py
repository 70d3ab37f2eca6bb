"""One request on its way to an OpenAI-compatible server: what is sent, what is read, and the one result it ends in."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import Any, cast

import openai

from engine import constraints
from engine.constraints import Constraint
from engine.errors import EngineError
from engine.handle import Handle
from engine.response_formats import Shape, Shapes, ignores_it, refuses_it, response_format
from engine.timings import percentile
from engine.types import FinishEvent, FinishReason, Message, Request, Result, Sampling, StartEvent, TokenEvent
from engine.wire import Wire

REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "stop"}
# Settings of this engine that OpenAI's protocol hasn't; servers such as vLLM and llama.cpp take them all the same.
EXTRA = {
    "top_k": ("top_k",),
    "min_p": ("min_p",),
    "typical_p": ("typical_p",),
    "repetition_penalty": ("repetition_penalty", "repeat_penalty"),  # vLLM's name and llama.cpp's
}
MOST_LOGPROBS = {"chat": 20, "completion": 5}


class Exchange:
    """One request on its way."""

    def __init__(
        self,
        client: openai.OpenAI,
        model: str,
        request: Request,
        constraint: Constraint | None,
        shapes: Shapes,
    ) -> None:
        self.model, self.request, self.constraint, self.shapes = model, request, constraint, shapes
        self.shape: Shape | None = None
        self.wire = Wire(client)
        self.client = self.wire.client
        self.handle = Handle(request.id, self._interrupt)
        self.lock = threading.Lock()
        self.ended = False
        self.text = ""
        self.reason: FinishReason | None = None
        self.usage: dict[str, int] = {}
        self.started = time.perf_counter()
        self.times: list[float] = []

    def _interrupt(self) -> None:
        """Ends the request at once, whatever the server does; the closed connection tells it to stop."""
        self._end("cancelled", None)
        self.wire.cut()

    def run(self) -> None:
        """Streams until the end, a cancel or a fault; always puts exactly one result."""
        error: dict[str, str] | None = None
        try:
            self.handle.put(StartEvent(0, "", 0, 0.0))
            self._read()
        except EngineError as fault:
            error = fault.to_dict()
        except openai.APIStatusError as fault:
            error = {
                "code": "remote_refused",
                "message": f"the server answered {fault.status_code}: {fault.message}",
            }
        except Exception as fault:
            # Broken connections surface as many types.
            error = {"code": "remote_failed", "message": f"{type(fault).__name__}: {fault}"}
        self._end("error" if error else self.reason or "stop", error)
        self.wire.close()

    def _end(self, reason: FinishReason, error: dict[str, str] | None) -> None:
        """Puts the result, once: the first to end a request says how it ended."""
        with self.lock:
            if self.ended:
                return
            self.ended = True
        try:
            result = self._result(reason, error)
        except Exception as fault:
            # With an error given nothing is validated, so this one can't fail the same way.
            told = {"code": "internal_error", "message": f"{type(fault).__name__}: {fault}"}
            result = self._result("error", told)
        self.handle.put(FinishEvent(result))

    def _read(self) -> None:
        """One answer. A schema that was refused or ignored in its first shape is sent in the other."""
        if self.constraint is None:
            self._stream(None)
            return
        first, then = self.shapes.order()
        ignored = False
        try:
            if self._stream(first, leave=True):
                return
            ignored = True
        except openai.APIStatusError as fault:
            if not refuses_it(fault):
                raise
        try:
            self._stream(then)
        except openai.APIStatusError as fault:
            if not ignored:
                raise
            message = f"the server doesn't hold a schema: it ignores {first} and refuses {then} ({fault.status_code})"
            raise EngineError("schema_mismatch", message) from fault

    def _stream(self, shape: Shape | None, *, leave: bool = False) -> bool:
        """Reads an answer to its end. With `leave`, False before anything was said that shows the schema is ignored."""
        self.shape = shape
        with self._open(shape) as stream:
            for chunk in stream:
                if self.ended:
                    return True
                if getattr(chunk, "usage", None):
                    self.usage = _usage(chunk.usage)
                for choice in chunk.choices:
                    if leave and self.constraint and ignores_it(_text(choice), self.constraint.schema):
                        return False
                    leave = leave and not _text(choice).strip()
                    self._take(choice)
        if self.reason is None:
            raise EngineError(
                "remote_failed", "the server ended the stream before the answer's end; try again"
            )
        return True

    def _open(self, shape: Shape | None) -> Any:
        settings = arguments(self.request.sampling)
        if self.request.prompt is not None:
            if self.request.sampling.logprobs:
                settings["logprobs"] = min(self.request.sampling.logprobs, MOST_LOGPROBS["completion"])
            return self.client.completions.create(
                model=self.model, prompt=self.request.prompt, stream=True, **settings
            )
        if self.request.sampling.logprobs:
            most = min(self.request.sampling.logprobs, MOST_LOGPROBS["chat"])
            settings |= {"logprobs": True, "top_logprobs": most}
        if self.constraint and shape:
            settings["response_format"] = response_format(shape, self.constraint.schema)
        messages = [
            {"role": m.role, "content": m.content} for m in cast(tuple[Message, ...], self.request.messages)
        ]
        return self.client.chat.completions.create(
            model=self.model,
            messages=cast(Any, messages),
            stream=True,
            stream_options={"include_usage": True},
            **settings,
        )

    def _take(self, choice: Any) -> None:
        text = _text(choice)
        if choice.finish_reason:
            self.reason = REASONS.get(choice.finish_reason, "stop")
        if not text:
            return
        with self.lock:
            if self.ended:
                return
            self.times.append(time.perf_counter())
            self.text += text
            at_ms = 1000 * (self.times[-1] - self.started)
            self.handle.put(TokenEvent(len(self.times) - 1, -1, text, _logprob(choice), None, (), at_ms))

    def _result(self, reason: FinishReason, error: dict[str, str] | None) -> Result:
        parsed: Any = None
        stats: dict[str, Any] = {"remote": str(self.client.base_url)}
        if self.constraint and reason in ("stop", "length"):
            parsed, reason, error = self._validated(reason, stats)
        return Result(
            text=self.text,
            token_ids=(),
            finish_reason=reason,
            error=error,
            usage=self.usage
            or {"prompt_tokens": 0, "completion_tokens": len(self.times), "cached_tokens": 0},
            timings=self._timings(),
            rendered_prompt="",
            parsed=parsed,
            stats=stats,
        )

    def _validated(
        self, reason: FinishReason, stats: dict[str, Any]
    ) -> tuple[Any, FinishReason, dict[str, str] | None]:
        """The text's value by our own check; cut off is truncated, not valid."""
        assert self.constraint is not None
        state = {"kind": self.constraint.kind, "valid": False, "truncated": reason == "length"}
        stats["constraint"] = {**state, "sent_as": self.shape}
        if reason == "length":
            return None, reason, None
        try:
            value = constraints.parse(self.constraint, self.text)
        except EngineError as fault:
            if self.shape:
                self.shapes.fails(self.shape)
            return (
                None,
                "error",
                {**fault.to_dict(), "message": f"the server held no schema: {fault.message}"},
            )
        if self.shape:
            self.shapes.works(self.shape)
        stats["constraint"]["valid"] = True
        return value, reason, None

    def _timings(self) -> dict[str, float | None]:
        gaps = sorted(1000 * (b - a) for a, b in pairwise(self.times))
        return {
            "queue_ms": None,
            "prefill_ms": None,
            "ttft_ms": 1000 * (self.times[0] - self.started) if self.times else None,
            "itl_ms_p50": percentile(gaps, 0.5),
            "itl_ms_p95": percentile(gaps, 0.95),
            "itl_ms_max": gaps[-1] if gaps else None,
            "tokens_per_s": len(gaps) / (self.times[-1] - self.times[0]) if gaps else None,
            "total_ms": 1000 * (time.perf_counter() - self.started),
        }


def arguments(s: Sampling) -> dict[str, Any]:
    """The settings under OpenAI's names; only what differs from the server's own defaults, but for temperature."""
    found: dict[str, Any] = {"temperature": s.temperature, "max_tokens": s.max_tokens}
    plain = {"top_p": 1.0, "frequency_penalty": 0.0, "presence_penalty": 0.0, "seed": None}
    found |= {name: getattr(s, name) for name, default in plain.items() if getattr(s, name) != default}
    if s.stop:
        found["stop"] = list(s.stop)
    if s.logit_bias:
        found["logit_bias"] = {str(token): value for token, value in s.logit_bias.items()}
    unset = Sampling()
    changed = [name for name in EXTRA if getattr(s, name) != getattr(unset, name)]
    extra = {theirs: getattr(s, name) for name in changed for theirs in EXTRA[name]}
    return found | ({"extra_body": extra} if extra else {})


def _text(choice: Any) -> str:
    """What a chunk adds, of a chat or of a completion."""
    delta = getattr(choice, "delta", None)
    return (delta.content if delta is not None else getattr(choice, "text", "")) or ""


def _logprob(choice: Any) -> float | None:
    """The chosen token's, of a chat's chunk or of a completion's."""
    told = getattr(choice, "logprobs", None)
    if seen := getattr(told, "content", None):
        return cast(float, seen[0].logprob)
    plain = getattr(told, "token_logprobs", None)
    return cast(float, plain[0]) if plain else None


def _usage(usage: Any) -> dict[str, int]:
    details = getattr(usage, "prompt_tokens_details", None)
    return {
        "prompt_tokens": usage.prompt_tokens or 0,
        "completion_tokens": usage.completion_tokens or 0,
        "cached_tokens": (getattr(details, "cached_tokens", None) or 0) if details else 0,
    }
