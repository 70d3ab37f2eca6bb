"""A pasted `config.json` as own-geometry parameters, with the traps it held named."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from interview.calculators.formulas.kv_layer_kinds import WINDOWS, layer_kinds, unread, whole
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
    config = _text_part(_parsed(text))
    noticed: list[str] = []
    layers = _number(config, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
    if layers > MOST_LAYERS:
        raise refuse(
            "config", f"has {visible(grouped(layers), 40)} layers; at most {grouped(MOST_LAYERS)} are counted"
        )
    heads = _number(config, "num_attention_heads", "n_head", "n_heads")
    hidden = _number(config, "hidden_size", "n_embd", "d_model")
    fields: dict[str, int | None] = {"heads": heads, "hidden": hidden}
    fields["context"] = _optional(config, "max_position_embeddings", "n_positions", "max_seq_len")
    if config.get("kv_lora_rank"):
        rope = _number(config, "qk_rope_head_dim")
        cached = len(_cached(config, layers, noticed))
        fields |= {"layers": cached, "kv_lora_rank": _number(config, "kv_lora_rank"), "rope_dim": rope}
        noticed.append("This config is MLA: the latent is cached, not num_key_value_heads.")
    else:
        fields |= _heads(config, heads, hidden, noticed)
        fields |= _layers(config, layers, noticed)
    noticed += unread(config)
    return ConfigReading({"model": OWN_MODEL, **_texts(fields)}, tuple(noticed))


def _texts(fields: dict[str, int | None]) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items() if value is not None}


def _parsed(text: str) -> dict[str, Any]:
    if len(text) > LONGEST:
        raise refuse("config", f"{len(text)} characters is too long: a config.json has at most {LONGEST}")
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise refuse("config", f"is not JSON: {visible(str(wrong), 120)}") from wrong
    if not isinstance(config, dict):
        raise refuse("config", "must be one JSON object, as config.json is")
    return config


def _text_part(config: dict[str, Any]) -> dict[str, Any]:
    """Multimodal configs keep the language model in `text_config`."""
    inner = config.get("text_config") or config.get("llm_config")
    return {**config, **inner} if isinstance(inner, dict) else config


def _optional(config: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = whole(config.get(name))
        if value is not None:
            return value
    return None


def _number(config: dict[str, Any], *names: str) -> int:
    value = _optional(config, *names)
    if value is None:
        raise refuse("config", f"has no usable {' or '.join(names[:2])}")
    return value


def _heads(config: dict[str, Any], heads: int, hidden: int, noticed: list[str]) -> dict[str, int | None]:
    kv_heads = _optional(config, "num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv")
    if kv_heads is None:
        kv_heads = 1 if config.get("multi_query") else heads
        noticed.append(f"The config names no KV heads; {kv_heads} is assumed.")
    width = _optional(config, "head_dim", "kv_channels", "attention_head_dim")
    if width is None:
        width = hidden // heads
        noticed.append(f"The config names no head_dim; hidden / heads = {width} is assumed.")
    wide = _optional(config, "global_head_dim")
    fields: dict[str, int | None] = {"kv_heads": kv_heads, "head_dim": width}
    if wide:
        fields |= {"full_head_dim": wide, "full_kv_heads": _optional(config, "num_global_key_value_heads")}
    return fields


def _cached(config: dict[str, Any], layers: int, noticed: list[str]) -> list[str]:
    """full or sliding for each layer that keeps a cache of its own."""
    kinds = layer_kinds(config, layers, noticed)
    cached = [kind for kind in kinds if kind != "none"]
    if not cached:
        raise refuse("config", "has no attention layer that keeps a cache")
    if len(cached) < len(kinds):
        noticed.append(
            f"{len(kinds) - len(cached)} of {layers} layers keep no cache; type their state if you know it."
        )
    return cached


def _layers(config: dict[str, Any], layers: int, noticed: list[str]) -> dict[str, int | None]:
    cached = _cached(config, layers, noticed)
    window = _window(config, noticed)
    local = cached.count("sliding")
    if window is None and local and local < len(cached) and config.get("use_sliding_window") is not False:
        noticed.append(f"{local} layers look back only so far, but no window is named: counted as full.")
    if window is None or not local:
        return {"layers": len(cached), "full_head_dim": None, "full_kv_heads": None}
    return {"layers": len(cached), "window": window, "window_layers": local}


def _window(config: dict[str, Any], noticed: list[str]) -> int | None:
    window = _optional(config, *WINDOWS)
    # Configs with max_window_layers (Qwen) come from classes whose use_sliding_window is false unless set.
    is_used = config.get("use_sliding_window", "max_window_layers" not in config)
    if window and is_used is False:
        noticed.append(f"sliding_window is {window}, but use_sliding_window is false: no window is counted.")
        return None
    return window
