"""The engine as callers see it: load a model, submit requests, read events."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from engine import chat, constraints, loading
from engine.active import Active
from engine.adapters import SHIPPED, Adapter, load_adapter
from engine.aside import aside
from engine.decoder import Decoder, Segment
from engine.errors import InvalidRequest, PromptTooLong
from engine.handle import Handle
from engine.limits import Limits
from engine.loop import Loop
from engine.observe import Observation, Observe, observe
from engine.reading import Passages
from engine.registry import DEFAULT_DIR, DEFAULT_MODEL, ModelCard
from engine.tokenizer import ModelTokenizer
from engine.tools import with_instructions
from engine.types import Request, Result

MAX_THREADS = 1024


class Engine:
    """A loaded model behind one batching loop. Every method may be called from any thread."""

    def __init__(
        self, decoder: Decoder, tokenizer: ModelTokenizer, card: ModelCard, limits: Limits | None = None
    ) -> None:
        self.decoder, self.tokenizer, self.card = decoder, tokenizer, card
        self.grammars = constraints.Grammars(tokenizer, decoder.shape.vocab_size)
        self.adapters: dict[str, Adapter] = {}
        self.passages = Passages()
        limits = limits or Limits()
        if not decoder.can_rewind:
            limits = replace(limits, prefix_bytes=0)
        self.loop = Loop(decoder, limits)

    @classmethod
    def load(
        cls,
        model: str = DEFAULT_MODEL,
        models_dir: Path = DEFAULT_DIR,
        threads: int | None = None,
        device: str = "auto",
        context: int | None = None,
        *,
        weight_format: str | None = None,
        limits: Limits | None = None,
    ) -> Engine:
        """Loads a model: a registry's name, a GGUF file, a folder in Hugging Face's form, or a hub id.

        `threads` bounds torch's own; `context` caps the model's context length in tokens; `weight_format` is
        int4, int8, bf16, fp16 or fp32 (by default the file's own, where the device can). Raises `ModelError`, and
        `InvalidRequest` for a number of threads that isn't one.
        """
        if threads is not None:
            if not 1 <= threads <= MAX_THREADS:
                raise InvalidRequest(
                    "invalid_request", f"threads is {threads}; allowed: 1 to {MAX_THREADS}", "threads"
                )
            torch.set_num_threads(threads)
        place = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        limits = limits or Limits()
        decoder, tokenizer, card = aside(
            lambda: loading.load(model, Path(models_dir), place, weight_format, limits.kv_bytes)
        )
        card = replace(card, context_length=min(card.context_length, context or card.context_length))
        return cls(decoder, tokenizer, card, limits)

    def submit(self, request: Request) -> Handle:
        """Queues a request. Raises `InvalidRequest` or `PromptTooLong` at once when it can't run."""
        adapter = self.adapter(request.adapter) if request.adapter is not None else None
        constraint = constraints.of_request(request)
        matcher = self.grammars.matcher(constraint) if constraint else None
        request = with_instructions(request)
        if not self.decoder.can_rewind:
            request = replace(request, speculate=0)
        rendered, ids = chat.render(self.tokenizer, request)
        if not ids:
            raise InvalidRequest("empty_prompt", "the prompt has no tokens", "prompt")
        self._check_ids(request)
        room = self._check_length(len(ids))
        handle = Handle(request.id, self.loop.wake)
        item = Active(
            request,
            ids,
            rendered,
            handle,
            self.tokenizer,
            min(request.sampling.max_tokens, room),
            constraint,
            matcher,
            adapter,
        )
        self._check_memory(item)
        self.loop.submit(item)
        return handle

    def generate(self, request: Request) -> Result:
        """Submits and waits for the result."""
        return self.submit(request).result()

    def observe(self, wanted: Observe) -> Observation:
        """One forward pass with its attention, norms and logits. Raises `InvalidRequest`."""
        return observe(self, wanted)

    def attach(self, folder: Path, name: str | None = None) -> Adapter:
        """Loads an adapter; requests name it by `name` (the folder's own by default). Raises `ModelError`."""
        loaded = load_adapter(folder, self.decoder, self.card.sha256, name)
        self.adapters[loaded.name] = loaded
        return loaded

    def detach(self, name: str) -> None:
        """Forgets an adapter; requests that run with it go on."""
        self.adapters.pop(name, None)

    def adapter(self, name: str) -> Adapter:
        """The attached adapter of that name; one that ships with the engine is attached on first use."""
        if name not in self.adapters and re.fullmatch(r"[a-z][a-z0-9-]*", name) and (SHIPPED / name).is_dir():
            self.attach(SHIPPED / name)
        if name not in self.adapters:
            raise InvalidRequest("unknown_adapter", f"no adapter {name!r} is attached", "adapter")
        return self.adapters[name]

    def classify(self, prompt: str, adapter: str) -> dict[str, float]:
        """The adapter's class probabilities for a text, by its head on the last token. Raises `InvalidRequest`."""
        chosen = self.adapter(adapter)
        if not chosen.classes:
            raise InvalidRequest("no_head", f"adapter {adapter!r} has no classification head", "adapter")
        ids = self.tokenizer.with_bos(self.tokenizer.encode(prompt))
        if not ids:
            raise InvalidRequest("empty_prompt", "the prompt has no tokens", "prompt")
        self._check_length(len(ids))
        return self.loop.call(lambda: self._classify(ids, chosen)).result()

    @torch.inference_mode()
    def _classify(self, ids: list[int], adapter: Adapter) -> dict[str, float]:
        cache = self.decoder.new_cache(len(ids))
        rows = torch.tensor(ids, device=self.decoder.device)
        return adapter.scores(self.decoder.forward(rows, [Segment(cache, len(ids), adapter.updates)])[-1])

    def stats(self) -> dict[str, Any]:
        """What the loop is doing: running, waiting, KV bytes, steps, tokens, recent batch sizes."""
        loop = self.loop
        return {
            "running": len(loop.active),
            "waiting": len(loop.waiting) + loop.inbox.qsize(),
            "steps": loop.steps,
            "tokens": loop.tokens,
            "kv_bytes_used": loop.kv_in_use,
            "kv_bytes_limit": loop.limits.kv_bytes,
            "prefix_bytes": loop.prefix.n_bytes,
            "prefix_hits": loop.prefix.hits,
            "prefix_hit_tokens": loop.prefix.hit_tokens,
            "batch_sizes": list(loop.busy_batch),
            "threads": torch.get_num_threads(),
        }

    def close(self) -> None:
        """Cancels what runs and stops the loop."""
        self.loop.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_length(self, n_prompt: int) -> int:
        room = self.card.context_length - n_prompt
        if room < 1:
            raise PromptTooLong(
                f"the prompt has {n_prompt} tokens; the context holds {self.card.context_length} with at "
                "least one of output. Shorten the prompt."
            )
        return room

    def _check_ids(self, request: Request) -> None:
        unknown = [t for t in request.continue_ids if t >= self.card.vocab_size]
        if unknown:
            raise InvalidRequest(
                "invalid_request",
                f"continue_ids names token {unknown[0]}; the vocabulary has {self.card.vocab_size}",
                "continue_ids",
            )
        too_high = [t for t in request.sampling.logit_bias if t >= self.card.vocab_size]
        if too_high:
            raise InvalidRequest(
                "invalid_sampling",
                f"logit_bias names token {too_high[0]}; the vocabulary has {self.card.vocab_size}",
                "logit_bias",
            )

    def _check_memory(self, item: Active) -> None:
        needed, limit = item.capacity * self.decoder.kv_bytes_per_token, self.loop.limits.kv_bytes
        if needed > limit:
            raise PromptTooLong(
                f"{len(item.prompt_ids)} prompt and {item.max_tokens} output tokens need {needed} bytes of "
                f"KV memory; the engine has {limit}. Shorten the prompt or lower max_tokens."
            )
