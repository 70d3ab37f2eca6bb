"""Which layers of a pasted config keep a growing cache, which only a window, and which fields nobody read.

Names and meanings are those of the models' own configuration classes in transformers: Llama 4 (`no_rope_layers`),
Qwen2 (`max_window_layers`), Gemma 3n (`num_kv_shared_layers`), RecurrentGemma (`block_types`), MiniMax-Text-01
(`attn_type_list`), Bamba (`attn_layer_indices`), Kimi Linear (`linear_attn_config`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle, islice
from typing import Any

from interview.calculators.formulas.parameters import refuse, visible

FULL = frozenset({"full", "global", "attention", "full_attention", "global_attention", "hybrid"})
SLIDING = frozenset(
    [
        "sliding",
        "chunked",
        "local",
        "sliding_attention",
        "chunked_attention",
        "local_attention",
        "sliding_window_attention",
    ]
)
NONE = frozenset(
    ["linear", "linear_attention", "mamba", "mamba2", "recurrent", "conv", "short_conv", "mlp", "moe"]
)
DEFAULT_PATTERN = {"gemma3": 6, "gemma3_text": 6, "gemma2": 2, "cohere2": 4}
LLAMA4_INTERVAL = 4
INDEX_LISTS = ("attn_layer_indices", "full_attn_layers", "attn_layer_idx")
WINDOWS = ("sliding_window", "attention_chunk_size", "attention_window_size")
READ = frozenset(
    {*WINDOWS, *INDEX_LISTS, "layer_types", "layers_block_type", "use_sliding_window", "max_window_layers"}
    | {"sliding_window_pattern", "_sliding_window_pattern", "no_rope_layers", "num_kv_shared_layers"}
)
# Fields of experts, MLPs and embeddings say nothing about the cache.
BESIDE = ("expert", "moe", "mlp", "dense", "vocab", "embed")


def layer_kinds(config: dict[str, Any], layers: int, noticed: list[str]) -> list[str]:
    """full, sliding or none for each layer that stores keys of its own; notices on what isn't understood."""
    named = _named(config, layers, noticed)
    kinds = named if named is not None else _by_rule(config, layers, noticed)
    if len(kinds) != layers:
        noticed.append(
            f"{len(kinds)} layers have a type and num_hidden_layers is {layers}: types are counted."
        )
    shared = whole(config.get("num_kv_shared_layers")) or 0
    if shared >= len(kinds):
        raise refuse("config", f"num_kv_shared_layers of {shared} leaves no layer with a cache of its own")
    if shared:
        noticed.append(f"The last {shared} layers use the cache of earlier layers (num_kv_shared_layers).")
    return kinds[: len(kinds) - shared]


def whole(value: Any, low: int = 1) -> int | None:
    """A JSON value as a whole number of at least `low`, or None."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and value >= low else None


def _named(config: dict[str, Any], layers: int, noticed: list[str]) -> list[str] | None:
    """Kinds where the config says one for each layer."""
    for field in ("layer_types", "layers_block_type"):
        if isinstance(config.get(field), list) and config[field]:
            return _kinds(config[field], noticed)
    blocks = config.get("block_types") or config.get("_block_types")
    if isinstance(blocks, list) and blocks:
        kinds = _kinds(blocks, noticed)
        if config.get("attention_window_size"):
            kinds = ["sliding" if kind == "full" else kind for kind in kinds]
        return list(islice(cycle(kinds), layers))
    pattern = config.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return _kinds(
            ({"*": "full", "M": "mamba", "-": "mlp", "E": "moe"}.get(c, c) for c in pattern), noticed
        )
    types = config.get("attn_type_list")
    if isinstance(types, list) and types:
        return _kinds(({"1": "full", "0": "linear"}.get(str(t), t) for t in types), noticed)
    return _by_index(config, layers)


def _kinds(names: Iterable[Any], noticed: list[str]) -> list[str]:
    kinds, unknown = [], dict[str, int]()
    for name in map(str, names):
        kind = "sliding" if name in SLIDING else "none" if name in NONE else "full"
        if kind == "full" and name not in FULL:
            unknown[name] = unknown.get(name, 0) + 1
        kinds.append(kind)
    for name, count in list(unknown.items())[:5]:
        noticed.append(f"Layer type “{visible(name, 40)}” is not known: {count} counted as full attention.")
    if len(unknown) > 5:
        noticed.append(f"{len(unknown) - 5} more layer types are not known: counted as full attention.")
    return kinds


def _by_index(config: dict[str, Any], layers: int) -> list[str] | None:
    """Attention layers listed by number; only how many there are matters."""
    inner = config.get("linear_attn_config")
    known = {**config, **inner} if isinstance(inner, dict) else config
    for field in INDEX_LISTS:
        listed = known.get(field)
        if isinstance(listed, list) and listed:
            count = len({str(i) for i in listed})
            if count > layers:
                raise refuse("config", f"{field} lists {count} layers of {layers}")
            return ["none"] * (layers - count) + ["full"] * count
    return None


def _by_rule(config: dict[str, Any], layers: int, noticed: list[str]) -> list[str]:
    every = whole(config.get("attn_layer_period")) or whole(config.get("full_attention_interval"))
    if every:
        offset = whole(config.get("attn_layer_offset"), 0)
        start = (every - 1 if offset is None else offset) % every
        return ["full" if i % every == start else "none" for i in range(layers)]
    rope = config.get("no_rope_layers")
    if isinstance(rope, list) and rope:
        # 1 keeps the rotary position and looks back one chunk or window; 0 sees everything.
        return ["sliding" if flag else "full" for flag in rope]
    if config.get("attention_chunk_size"):
        return _periodic(layers, whole(config.get("no_rope_layer_interval")) or LLAMA4_INTERVAL)
    first = whole(config.get("max_window_layers"), 0)
    if first is not None and config.get("use_sliding_window") is True:
        return ["full" if i < first else "sliding" for i in range(layers)]
    return _by_pattern(config, layers, noticed)


def _by_pattern(config: dict[str, Any], layers: int, noticed: list[str]) -> list[str]:
    pattern = config.get("sliding_window_pattern") or config.get("_sliding_window_pattern")
    if isinstance(pattern, str) and pattern:
        kinds = _kinds(({"L": "local", "G": "global"}.get(c, c) for c in pattern), noticed)
        return list(islice(cycle(kinds), layers))
    return _periodic(layers, whole(pattern) or DEFAULT_PATTERN.get(str(config.get("model_type", ""))))


def _periodic(layers: int, full_every: int | None) -> list[str]:
    return ["full" if full_every and i % full_every == full_every - 1 else "sliding" for i in range(layers)]


def unread(config: dict[str, Any]) -> list[str]:
    """A notice for each field whose name tells of windows, listed layers or sharing and that nothing here reads."""
    found = [name for name, value in config.items() if _is_unread(name, value)]
    said = [f"{visible(name, 60)} is not read: check what it says about the cache." for name in found[:8]]
    return [*said, f"{len(found) - 8} more such fields are not read."] if len(found) > 8 else said


def _is_unread(name: str, value: Any) -> bool:
    if name in WINDOWS:
        return bool(value) and whole(value) is None
    if not value or name in READ or any(word in name for word in BESIDE):
        return False
    return "window" in name or "shared" in name or ("layer" in name and isinstance(value, list))
