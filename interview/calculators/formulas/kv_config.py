"""A pasted `config.json` as own-geometry parameters, with the traps it held named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interview.calculators.formulas.kv_layer_kinds import WINDOWS, layer_kinds, unread, whole
from interview.calculators.formulas.kv_state import state_fields
from interview.calculators.formulas.parameters import OWN_MODEL, refuse, visible
from interview.calculators.formulas.units import grouped

LONGEST = 200_000
MOST_LAYERS = 10**5


@dataclass(frozen=True, slots=True)
class ConfigReading:
    """What a config says about its cache: parameters for `model=own`, and what was noticed on the way."""

    fields: dict[str, str]
    noticed: tuple[str, ...]


def read_config(text: str) -> ConfigReading:
    """Own-geometry parameters of a Hugging Face config. Raises InputErrors on `config`."""
    config = parsed(text)
    noticed: list[str] = []
    layers = layer_count(config)
    heads = number(config, "num_attention_heads", "n_head", "n_heads")
    hidden = number(config, "hidden_size", "n_embd", "d_model")
    fields: dict[str, int | None] = {"heads": heads, "hidden": hidden}
    fields["context"] = optional(config, "max_position_embeddings", "n_positions", "max_seq_len")
    if config.get("kv_lora_rank"):
        rope = number(config, "qk_rope_head_dim")
        cached = len(_cached(config, layers, noticed))
        fields |= {"layers": cached, "kv_lora_rank": number(config, "kv_lora_rank"), "rope_dim": rope}
        noticed.append("This config is MLA: the latent is cached, not num_key_value_heads.")
    else:
        fields |= heads_of(config, heads, hidden, noticed)
        fields |= layers_of(config, layers, noticed)
        fields |= state_fields(config, layers, noticed)
    noticed += unread(config)
    return ConfigReading({"model": OWN_MODEL, **texts(fields)}, tuple(noticed))


def layer_count(config: dict[str, Any]) -> int:
    """How many layers. Raises InputErrors for none, and for more than anybody would count."""
    layers = number(config, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
    if layers > MOST_LAYERS:
        raise refuse(
            "config", f"has {visible(grouped(layers), 40)} layers; at most {grouped(MOST_LAYERS)} are counted"
        )
    return layers


def texts(fields: Mapping[str, int | str | None]) -> dict[str, str]:
    """As parameters are given; what the config doesn't say is left out."""
    return {name: str(value) for name, value in fields.items() if value is not None}


def parsed(text: str) -> dict[str, Any]:
    """The language model's part of a config. Raises InputErrors where it is no JSON object."""
    if len(text) > LONGEST:
        raise refuse("config", f"{len(text)} characters is too long: a config.json has at most {LONGEST}")
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise refuse("config", f"is not JSON: {visible(str(wrong), 120)}") from wrong
    if not isinstance(config, dict):
        raise refuse("config", "must be one JSON object, as config.json is")
    return _text_part(config)


def _text_part(config: dict[str, Any]) -> dict[str, Any]:
    """Multimodal configs keep the language model in `text_config`."""
    inner = config.get("text_config") or config.get("llm_config")
    return {**config, **inner} if isinstance(inner, dict) else config


def optional(config: dict[str, Any], *names: str) -> int | None:
    """The first of these fields that holds a whole number."""
    for name in names:
        value = whole(config.get(name))
        if value is not None:
            return value
    return None


def number(config: dict[str, Any], *names: str) -> int:
    """The same, and there must be one. Raises InputErrors."""
    value = optional(config, *names)
    if value is None:
        raise refuse("config", f"has no usable {' or '.join(names[:2])}")
    return value


def heads_of(config: dict[str, Any], heads: int, hidden: int, noticed: list[str]) -> dict[str, int | None]:
    """KV heads and head dimension, and those of full layers where they differ."""
    kv_heads = optional(config, "num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv")
    if kv_heads is None:
        kv_heads = 1 if config.get("multi_query") else heads
        noticed.append(f"The config names no KV heads; {kv_heads} is assumed.")
    width = optional(config, "head_dim", "kv_channels", "attention_head_dim")
    if width is None:
        width = hidden // heads
        noticed.append(f"The config names no head_dim; hidden / heads = {width} is assumed.")
    wide = optional(config, "global_head_dim")
    fields: dict[str, int | None] = {"kv_heads": kv_heads, "head_dim": width}
    if wide:
        fields |= {"full_head_dim": wide, "full_kv_heads": optional(config, "num_global_key_value_heads")}
    return fields


def _cached(config: dict[str, Any], layers: int, noticed: list[str]) -> list[str]:
    """full or sliding for each layer that keeps a cache of its own."""
    kinds = layer_kinds(config, layers, noticed)
    cached = [kind for kind in kinds if kind != "none"]
    if not cached:
        raise refuse("config", "has no attention layer that keeps a cache")
    if len(cached) < len(kinds):
        noticed.append(
            f"{len(kinds) - len(cached)} of {layers} layers keep no cache; check what they keep instead."
        )
    return cached


def layers_of(config: dict[str, Any], layers: int, noticed: list[str]) -> dict[str, int | None]:
    """How many layers keep a cache, and how many of them only a window."""
    cached = _cached(config, layers, noticed)
    window = _window(config, noticed)
    local = cached.count("sliding")
    if window is None and local and local < len(cached) and config.get("use_sliding_window") is not False:
        noticed.append(f"{local} layers look back only so far, but no window is named: counted as full.")
    if window is None or not local:
        return {"layers": len(cached), "full_head_dim": None, "full_kv_heads": None}
    return {"layers": len(cached), "window": window, "window_layers": local}


def _window(config: dict[str, Any], noticed: list[str]) -> int | None:
    window = optional(config, *WINDOWS)
    # Configs with max_window_layers (Qwen) come from classes whose use_sliding_window is false unless set.
    is_used = config.get("use_sliding_window", "max_window_layers" not in config)
    if window and is_used is False:
        noticed.append(f"sliding_window is {window}, but use_sliding_window is false: no window is counted.")
        return None
    return window
