"""Adapters: a few megabytes of low-rank updates and heads beside a loaded model, chosen per request.

A folder holds `adapter.safetensors` and `card.json`; the card names the weights' hash and the model they are for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load
from torch import Tensor

from engine.decoder import Decoder
from engine.errors import ModelError
from engine.heads import class_logits
from engine.lora import Updates, updates_of

SHIPPED = Path(__file__).parent / "adapters_data"
MAX_BYTES = 512 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """A loaded adapter. `key` names it with its weights and their factor, so that nothing cached outlives a change."""

    name: str
    key: str
    card: Mapping[str, Any]
    updates: Updates
    heads: Mapping[str, Tensor]

    @property
    def classes(self) -> tuple[str, ...]:
        """What the head tells apart; empty without a head."""
        return tuple(self.card.get("classes", ()))

    @property
    def n_bytes(self) -> int:
        """Bytes held in memory."""
        low = sum(m.a.nbytes + m.b.nbytes for layer in self.updates for m in layer.values())
        return low + sum(t.nbytes for t in self.heads.values())

    def scores(self, last: Tensor) -> dict[str, float]:
        """Each class's probability, from the hidden state [hidden] of a text's last token."""
        logits = class_logits(self.heads, last)
        values = logits.sigmoid() if len(logits) == 1 else logits.softmax(-1)
        return dict(zip(self.classes, values.tolist(), strict=True))


def load_adapter(folder: Path, decoder: Decoder, base_sha256: str, name: str | None = None) -> Adapter:
    """Reads an adapter and fits it to the decoder.

    Raises `ModelError` when a file is missing or not what its card says, or when it is another model's.
    """
    card = _card(folder)
    weights = _verified(folder / "adapter.safetensors", str(card["sha256"]))
    wanted = card["base"]["sha256"]
    if wanted != base_sha256:
        raise ModelError(
            "adapter_mismatch",
            f"{folder} was trained on {card['base'].get('name')} {wanted[:12]}; the loaded model is {base_sha256[:12]}",
        )
    try:
        tensors = {k: t.to(decoder.device) for k, t in load(weights).items()}
        updates = updates_of(tensors, decoder.shape, float(card["factor"]), decoder.dtype)
        heads = {k: t.float() for k, t in tensors.items() if not k.startswith("layers.")}
        _check_heads(heads, card, decoder)
    except Exception as error:  # safetensors raises its own untyped errors
        raise ModelError("adapter_corrupt", f"{folder} can't be used: {error}") from error
    label = name or folder.name
    return Adapter(label, f"{label}@{card['sha256'][:16]}x{card['factor']}", card, updates, heads)


def _card(folder: Path) -> dict[str, Any]:
    path = folder / "card.json"
    try:
        card = json.loads(path.read_text())
        ok = isinstance(card["sha256"], str) and isinstance(card["base"]["sha256"], str)
        ok = ok and float(card["factor"]) > 0
    except FileNotFoundError as error:
        raise ModelError("adapter_missing", f"{path} is missing; give a folder that `train` wrote") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError("adapter_corrupt", f"{path} is no adapter's card: {error!r}") from error
    if not ok:
        raise ModelError("adapter_corrupt", f"{path} is no adapter's card")
    return dict(card)


def _verified(path: Path, sha256: str) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ModelError("adapter_corrupt", f"{path} has over {MAX_BYTES} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise ModelError("adapter_missing", f"{path} can't be read: {error}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise ModelError(
            "adapter_corrupt",
            f"{path} has sha256 {found[:16]}…, its card says {sha256[:16]}…; restore the file",
        )
    return data


def _check_heads(heads: Mapping[str, Tensor], card: Mapping[str, Any], decoder: Decoder) -> None:
    classes = card.get("classes", ())
    if classes and heads["head.weight"].shape != (len(classes), decoder.shape.hidden_size):
        raise ValueError(f"the head is {tuple(heads['head.weight'].shape)}, its classes are {classes}")
    if any(not bool(torch.isfinite(t).all()) for t in heads.values()):
        raise ValueError("a head holds values that are not finite")
