"""The same requests against an OpenAI-compatible server (vLLM, llama.cpp, `transformers serve`, this site).

Text, finish reason, log-probabilities and usage are the server's; what only a local model can show (ids, steps,
attention, adapters) is absent and never made up. A schema is sent as `response_format`, and the finished text is
validated here whatever the server promised.
"""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from types import TracebackType
from typing import Any, cast

import openai

from engine import constraints
from engine.constraints import Constraint
from engine.errors import EngineError, InvalidRequest
from engine.handle import Handle
from engine.registry import ModelCard
from engine.timings import percentile
from engine.tools import with_instructions
from engine.types import FinishEvent, FinishReason, Message, Request, Result, Sampling, StartEvent, TokenEvent

REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "stop"}
# Settings of this engine that OpenAI's protocol hasn't; servers such as vLLM and llama.cpp take them all the same.
EXTRA = ("top_k", "min_p", "typical_p", "repetition_penalty")
LOCAL_ONLY = ("regex", "choices", "grammar", "quotes", "adapter")
# Parts of the local engine that no server lets one look into.
LOCAL_PARTS = {"tokenizer", "decoder", "loop", "grammars", "adapters", "adapter", "passages", "observe", "attach",
               "detach", "classify", "stats"}  # fmt: skip


class NotRemote(InvalidRequest, AttributeError):
    """What was asked for needs the model itself; code that can do without may ask by `getattr` with a default."""


class RemoteEngine:
    """`submit` and `generate` as the local engine has them. Every method may be called from any thread."""

    def __init__(self, url: str, model: str, key: str = "", timeout: float = 120.0) -> None:
        self.model, self.url = model, url
        self.client = openai.OpenAI(base_url=url, api_key=key or "none", timeout=timeout, max_retries=1)
        self.card = ModelCard(model, f"served by {url}", "", "", "remote", "unknown", 0, 0, 0, 0, 0, 0, 0, 0)

    def __enter__(self) -> RemoteEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name in LOCAL_PARTS:
            raise NotRemote(
                "not_remote",
                f"this needs the model itself (its {name}), and the model runs on a server that doesn't show it: "
                "it works without ENGINE_URL",
            )
        raise AttributeError(f"RemoteEngine has no {name}")

    def submit(self, request: Request) -> Handle:
        """Sends a request; its events arrive as the server streams. Raises `InvalidRequest` for what it can't carry."""
        used = [name for name in LOCAL_ONLY if getattr(request, name) is not None]
        if used or request.continue_ids:
            name = used[0] if used else "continue_ids"
            raise InvalidRequest(
                "not_remote", f"{name} needs the local model; a remote server takes schema and tools", name
            )
        constraint = constraints.of_request(request)
        told = with_instructions(request)
        exchange = Exchange(self.client, self.model, told, constraint)
        threading.Thread(target=exchange.run, name=f"remote-{request.id[:8]}", daemon=True).start()
        return exchange.handle

    def generate(self, request: Request) -> Result:
        """Submits and waits for the result."""
        return self.submit(request).result()

    def close(self) -> None:
        """Ends the connections."""
        self.client.close()


class Exchange:
    """One request on its way."""

    def __init__(
        self, client: openai.OpenAI, model: str, request: Request, constraint: Constraint | None
    ) -> None:
        self.client, self.model, self.request, self.constraint = client, model, request, constraint
        self.handle = Handle(request.id, self._interrupt)
        self.stream: Any = None
        self.text = ""
        self.reason: FinishReason = "stop"
        self.usage: dict[str, int] = {}
        self.started = time.perf_counter()
        self.times: list[float] = []

    def _interrupt(self) -> None:
        """Closing the connection is how a server is told to stop."""
        if self.stream is not None:
            self.stream.close()

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
            # Broken connections surface as many types, and as a closed stream when we cancelled.
            error = {"code": "remote_failed", "message": f"{type(fault).__name__}: {fault}"}
        if self.handle.cancelled:
            self.reason, error = "cancelled", None
        try:
            result = self._result(error)
        except Exception as fault:
            # With an error given nothing is validated, so this one can't fail the same way.
            result = self._result({"code": "internal_error", "message": f"{type(fault).__name__}: {fault}"})
        self.handle.put(FinishEvent(result))

    def _read(self) -> None:
        self.stream = self._open()
        with self.stream:
            for chunk in self.stream:
                if self.handle.cancelled:
                    return
                if getattr(chunk, "usage", None):
                    self.usage = _usage(chunk.usage)
                for choice in chunk.choices:
                    self._take(choice)

    def _open(self) -> Any:
        settings = arguments(self.request.sampling)
        if self.request.prompt is not None:
            return self.client.completions.create(
                model=self.model, prompt=self.request.prompt, stream=True, **settings
            )
        if self.request.sampling.logprobs:
            settings |= {"logprobs": True, "top_logprobs": min(self.request.sampling.logprobs, 20)}
        if self.constraint:
            named = {"name": "output", "schema": self.constraint.schema, "strict": True}
            settings["response_format"] = {"type": "json_schema", "json_schema": named}
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
        delta = getattr(choice, "delta", None)
        text = (delta.content if delta is not None else getattr(choice, "text", "")) or ""
        if choice.finish_reason:
            self.reason = REASONS.get(choice.finish_reason, "stop")
        if not text:
            return
        self.times.append(time.perf_counter())
        self.text += text
        seen = getattr(getattr(choice, "logprobs", None), "content", None)
        logprob = seen[0].logprob if seen else None
        at_ms = 1000 * (self.times[-1] - self.started)
        self.handle.put(TokenEvent(len(self.times) - 1, -1, text, logprob, None, (), at_ms))

    def _result(self, error: dict[str, str] | None) -> Result:
        reason: FinishReason = "error" if error else self.reason
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
        stats["constraint"] = state
        if reason == "length":
            return None, reason, None
        try:
            value = constraints.parse(self.constraint, self.text)
        except EngineError as fault:
            return None, "error", fault.to_dict()
        state["valid"] = True
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
    extra = {name: getattr(s, name) for name in EXTRA if getattr(s, name) != getattr(unset, name)}
    return found | ({"extra_body": extra} if extra else {})


def _usage(usage: Any) -> dict[str, int]:
    details = getattr(usage, "prompt_tokens_details", None)
    return {
        "prompt_tokens": usage.prompt_tokens or 0,
        "completion_tokens": usage.completion_tokens or 0,
        "cached_tokens": (getattr(details, "cached_tokens", None) or 0) if details else 0,
    }
