"""Architectures that the own decoder doesn't hold, through transformers' `AutoModelForCausalLM`, behind its interface.

Requests join and leave as usual, each with a cache of its own kind; forward passes aren't shared, and neither
prefixes nor drafts are used, because not every cache can be cut back.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from engine.cache import KVCache
from engine.decoder import Decoder, Probe, Segment, Shape
from engine.errors import ModelError
from engine.registry import Format
from engine.weights import DTYPES


class FallbackCache:
    """One sequence's cache as transformers keeps it."""

    def __init__(self, capacity: int, bytes_per_token: int) -> None:
        self.capacity, self.length = capacity, 0
        self.past: Any = None
        self.n_bytes = capacity * bytes_per_token


class FallbackDecoder:
    """What the loop asks of a decoder, answered by transformers. `hidden` is the logits already."""

    can_rewind = False

    def __init__(self, model: Any, shape: Shape, dtype: torch.dtype) -> None:
        self.model, self.shape, self.dtype = model, shape, dtype
        self.device = model.device
        self.embedding = model.get_input_embeddings().weight
        self.layers: list[Any] = []

    @property
    def kv_bytes_per_token(self) -> int:
        """As if every layer kept keys and values of every token: an upper bound for other kinds of state."""
        s = self.shape
        return 2 * s.n_layers * s.n_kv_heads * s.head_dim * self.dtype.itemsize

    def new_cache(self, capacity: int) -> KVCache:
        """An empty cache."""
        return cast(KVCache, FallbackCache(capacity, self.kv_bytes_per_token))

    def new_arena(self, n_bytes: int) -> None:
        """None: each cache is transformers' own."""

    @torch.inference_mode()
    def forward(self, ids: Tensor, segments: Sequence[Segment], probe: Probe | None = None) -> Tensor:
        """Runs each sequence by itself; returns logits [rows, vocab] in fp32."""
        if probe is not None:
            raise ModelError(
                "not_observable", "this architecture runs through transformers and can't be observed"
            )
        rows = torch.split(ids, [segment.length for segment in segments])
        return torch.cat(
            [self._one(r, cast(FallbackCache, s.cache)) for r, s in zip(rows, segments, strict=True)]
        )

    def _one(self, ids: Tensor, cache: FallbackCache) -> Tensor:
        out = self.model(ids[None], past_key_values=cache.past, use_cache=True)
        cache.past = out.past_key_values
        cache.length += len(ids)
        return cast(Tensor, out.logits[0].float())

    def logits(self, hidden: Tensor) -> Tensor:
        """They were computed by `forward`."""
        return hidden


def load_fallback(folder: Path, form: Format, device: torch.device) -> Decoder:
    """The folder's model in its own dtype. Raises `ModelError` for what transformers can't load."""
    if form in ("int4", "int8"):
        raise ModelError("unknown_format", f"{form} is of the own decoder; here use bf16, fp16 or fp32")
    try:
        from transformers import AutoModelForCausalLM

        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=DTYPES[form], local_files_only=True)
    except ImportError as error:
        raise ModelError("model_unsupported", f"{folder} needs transformers for its architecture") from error
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError("model_unsupported", f"transformers can't load {folder}: {error}") from error
    return cast(Decoder, FallbackDecoder(model.eval().to(device), _shape(model.config), DTYPES[form]))


def _shape(config: Any) -> Shape:
    text = config.get_text_config()
    heads = text.num_attention_heads
    return Shape(
        n_layers=text.num_hidden_layers,
        n_heads=heads,
        n_kv_heads=getattr(text, "num_key_value_heads", None) or heads,
        head_dim=getattr(text, "head_dim", None) or text.hidden_size // heads,
        hidden_size=text.hidden_size,
        intermediate_size=getattr(text, "intermediate_size", None) or 4 * text.hidden_size,
        vocab_size=text.vocab_size,
        context_length=text.max_position_embeddings,
    )
