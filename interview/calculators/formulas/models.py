"""The geometries of 126 open models, typed, and finding one by what people call it.

Each row's parameter count is recomputed from its geometry in the tests; the row says where it is from.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

SAME = """id name family n_layers hidden_size n_heads n_kv_heads head_dim vocab_size intermediate_size
    tie_word_embeddings max_position dtype params_stated params_active_stated params_check"""
ROWS = Path(__file__).with_name("model_rows.json")


@dataclass(frozen=True, slots=True)
class Window:
    """Attention limited to `size` tokens on the layers marked S in `pattern` (F is full)."""

    size: int
    pattern: str
    chunked: bool


@dataclass(frozen=True, slots=True)
class Mla:
    """Multi-head latent attention: what is cached is one latent and one rope key a token."""

    q_lora_rank: int | None
    kv_lora_rank: int
    qk_rope_head_dim: int
    qk_nope_head_dim: int
    v_head_dim: int


@dataclass(frozen=True, slots=True)
class Moe:
    """Experts: how many there are, how many a token uses, and which layers have them."""

    n_experts: int
    n_active: int
    n_shared: int
    expert_intermediate: int
    first_dense_layers: int = 0
    layer_step: int = 1
    layer_offset: int = 0
    dense_intermediate: int | None = None
    shared_intermediate: int | None = None
    shared_gate: bool = False
    parallel_dense: bool = False
    router_bias: int = 0
    expert_bias: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """Layers that keep a constant state a sequence instead of a growing cache (values per layer)."""

    layers: int
    recurrent_values: int
    conv_values: int
    layer_params: int
    kind: str


@dataclass(frozen=True, slots=True)
class GlobalAttention:
    """Full layers whose heads differ from the windowed ones; `k_eq_v` means one projection makes both."""

    n_kv_heads: int
    head_dim: int
    k_eq_v: bool


@dataclass(frozen=True, slots=True)
class Block:
    """What decides the last few parameters: kind of MLP, biases, norms."""

    mlp: str
    qkv_bias: bool
    o_bias: bool
    mlp_bias: bool
    norm: str
    norms_per_layer: int
    qk_norm: str | None
    learned_positions: int
    lm_head_bias: bool
    embedding_norm: bool


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """One model's shape, in the field names of its config. Each is one object, so what follows from it can be kept."""

    id: str
    name: str
    family: str
    n_layers: int
    hidden_size: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    tie_word_embeddings: bool
    max_position: int
    dtype: str
    block: Block
    window: Window | None
    mla: Mla | None
    moe: Moe | None
    state: State | None
    global_attention: GlobalAttention | None
    pattern: str | None
    gated_q: bool
    single_mixer: bool
    params_stated: int
    params_active_stated: int | None
    params_check: str
    notes: str
    source: str

    @property
    def cache_layers(self) -> int:
        """Layers that keep a KV cache."""
        return sum(self.pattern.count(c) for c in "FA") if self.pattern else self.n_layers


class UnknownModel(ValueError):
    """No model of that name; `suggestions` holds the nearest ids."""

    def __init__(self, text: str, suggestions: tuple[str, ...]) -> None:
        self.suggestions = suggestions
        hint = f"did you mean {' or '.join(suggestions)}?" if suggestions else "pick one from the list"
        super().__init__(f"no model is called “{text[:80]}”: {hint}")


@lru_cache(maxsize=1)
def models() -> dict[str, Geometry]:
    """Every geometry by id, in the file's order."""
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    return {row["id"]: _geometry(row) for row in rows}


def find_model(text: str) -> Geometry:
    """The model with this id, name or short name; case and punctuation don't matter. Raises UnknownModel."""
    found = models().get(text) or _by_key().get(_key(text[:200]))
    if found is None:
        raise UnknownModel(text, suggestions(text[:80]))
    return found


def suggestions(text: str) -> tuple[str, ...]:
    """Up to three ids that read most like `text`."""
    keys = _by_key()
    wanted = _key(text)
    near = difflib.get_close_matches(wanted, keys, n=6, cutoff=0.5) if wanted else []
    near += [k for k in keys if wanted and len(wanted) > 2 and wanted in k]
    return tuple(dict.fromkeys(keys[k].id for k in near))[:3]


def _key(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


@lru_cache(maxsize=1)
def _by_key() -> dict[str, Geometry]:
    keys: dict[str, Geometry] = {}
    for geometry in models().values():
        for text in (geometry.id, geometry.id.rpartition("/")[2], geometry.name):
            keys.setdefault(_key(text), geometry)
    return keys


def _geometry(row: dict[str, Any]) -> Geometry:
    hybrid = row["hybrid"] or {}
    return Geometry(
        **{key: row[key] for key in SAME.split()},
        block=Block(**row["block"]),
        window=_window(row["sliding_window"]),
        mla=Mla(**row["mla"]) if row["mla"] else None,
        moe=Moe(**row["moe"]) if row["moe"] else None,
        state=_state(hybrid) if "state_layers" in hybrid else None,
        global_attention=GlobalAttention(**hybrid["global_attn"]) if "global_attn" in hybrid else None,
        pattern=hybrid.get("pattern"),
        gated_q=bool(hybrid.get("gated_q")),
        single_mixer=bool(hybrid.get("single_mixer")),
        notes=row["notes"] or "",
        source=row["source"],
    )


def _window(row: dict[str, Any] | None) -> Window | None:
    if row is None:
        return None
    return Window(size=row["size"], pattern=row["pattern"], chunked=row.get("kind") == "chunked")


def _state(hybrid: dict[str, Any]) -> State:
    return State(
        layers=hybrid["state_layers"],
        recurrent_values=hybrid["recurrent_values"],
        conv_values=hybrid["conv_values"],
        layer_params=hybrid["state_layer_params"],
        kind=hybrid["state"],
    )
