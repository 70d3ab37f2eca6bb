"""From a model's name to a decoder, a tokenizer and a card."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import torch

from engine import hf, sources
from engine.decoder import Decoder
from engine.errors import ModelError
from engine.fallback import load_fallback
from engine.gguf_file import read_gguf
from engine.gguf_weights import load_gguf
from engine.registry import FORMATS, Format, ModelCard
from engine.sources import Source
from engine.tokenizer import ModelTokenizer, from_gguf


def load(
    model: str, models_dir: Path, place: str, weight_format: str | None, kv_bytes: int
) -> tuple[Decoder, ModelTokenizer, ModelCard]:
    """Everything an engine is made of. Raises `ModelError`: unknown, corrupt, unsupported or too large."""
    source = sources.find(model, models_dir)
    form = _format(source, place, weight_format)
    card = sources.card(source, models_dir)
    if place == "cpu":
        sources.check_memory(source, form, kv_bytes)
    decoder = _decoder(source, card, form, place, models_dir)
    tokenizer = (
        from_gguf(read_gguf(source.path).metadata)
        if source.kind == "gguf"
        else hf.load_tokenizer(source.path)
    )
    kept = source.kind == "gguf" and form == "int4" == sources.default_format(source, "cpu")
    card = replace(
        card,
        context_length=decoder.shape.context_length,
        weight_format=card.weight_format if kept else form,
        kv_bytes_per_token=decoder.kv_bytes_per_token,
    )
    return decoder, tokenizer, card


def _format(source: Source, place: str, asked: str | None) -> Format:
    if asked is None:
        return sources.default_format(source, place)
    if asked not in FORMATS:
        raise ModelError("unknown_format", f"weight format {asked!r}; allowed: {', '.join(FORMATS)}")
    if place != "cpu" and asked in ("int4", "int8"):
        raise ModelError("unknown_format", f"{asked} runs on the CPU; on {place} use bf16, fp16 or fp32")
    return asked


def _decoder(source: Source, card: ModelCard, form: Format, place: str, models_dir: Path) -> Decoder:
    if source.kind == "gguf":
        own = source.path.parent if source.known_sha256 else models_dir
        return load_gguf(source.path, card.sha256, form, place, own)
    family = json.loads((source.path / "config.json").read_text()).get("model_type")
    if family in hf.FAMILIES:
        return hf.load_folder(source.path, form, place)
    return load_fallback(source.path, form, torch.device(place))
