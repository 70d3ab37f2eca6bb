"""The working of a KV cache, line by line."""

from __future__ import annotations

from interview.calculators.formulas.kv_dtypes import KvDtype
from interview.calculators.formulas.kv_geometry import LayerGroup
from interview.calculators.formulas.kv_load import Load
from interview.calculators.formulas.kv_modes import stored
from interview.calculators.formulas.result import Working


def working_of(load: Load, gpus: int) -> Working:
    """Steps from one vector to `total_bytes`, and to `gpu_bytes` where several GPUs share it."""
    working = Working()
    alone = len(load.groups()) == 1 and not load.geometry.state.layers
    parts = [_group_steps(working, load, group, alone) for group in load.groups()]
    state = load.geometry.state
    if state.layers:
        working.given(state_layers=state.layers, state_bytes=state.layer_bytes(), sequences=load.sequences)
        code = "sequences * state_layers * state_bytes"
        working.step("constant_state", "State of the layers that keep no cache", code, "bytes")
        parts.append("constant_state")
    if not alone:
        working.step("total_bytes", "KV cache", " + ".join(parts), "bytes")
    if gpus > 1:
        _gpu_step(working, load, gpus)
    return working


def _prefix(load: Load, group: LayerGroup) -> str:
    return "" if len(load.groups()) == 1 else f"{group.label}_"


def _group_steps(working: Working, load: Load, group: LayerGroup, alone: bool) -> str:
    which = _prefix(load, group)
    title = f" of the {group.label} layers" if which else ""
    _give(working, load, group, which)
    padded = load.layer_bytes(group) != group.layer_bytes(load.dtype)
    code = "page_slot" if padded else _layer_code(load.dtype, group, which)
    working.step(f"{which}layer_bytes", f"Bytes per token and layer{title}", code, "bytes")
    slots, slot_names, _ = stored(group, load.tokens, load.sequences, load.runtime)
    working.given(**slot_names)
    working.step(f"{which}slots", f"Token slots in each layer{title}", slots, "tokens")
    code = f"{which}layers * {which}slots * {which}layer_bytes"
    name = "total_bytes" if alone else f"{which}cache_bytes"
    working.step(name, "KV cache" if alone else f"Cache{title}", code, "bytes")
    return name


def _give(working: Working, load: Load, group: LayerGroup, which: str) -> None:
    names = {"layers": group.layers, "kv_heads": group.heads, "head_dim": group.k_dim}
    working.given(**{f"{which}{k}": v for k, v in names.items()})
    working.given(
        block_values=load.dtype.block,
        block_bytes=load.dtype.block_bytes,
        bytes_per_value=load.dtype.block_bytes,
        scale_bytes=load.dtype.vector_extra,
        page_slot=load.layer_bytes(group),
        latent=group.k_dim,
    )


def _layer_code(dtype: KvDtype, group: LayerGroup, which: str) -> str:
    width = "latent" if group.latent else f"{which}head_dim"
    plain = dtype.block == 1
    vector = f"{width} * bytes_per_value" if plain else f"ceil({width} / block_values) * block_bytes"
    if dtype.vector_extra:
        vector = f"{vector} + scale_bytes"
    if group.latent:
        return vector
    return f"2 * {which}kv_heads * ({vector})" if dtype.vector_extra else f"2 * {which}kv_heads * {vector}"


def _gpu_step(working: Working, load: Load, gpus: int) -> None:
    working.given(gpus=gpus)
    parts = []
    for group in load.groups():
        which = _prefix(load, group)
        share = "" if group.latent else f" * ceil({which}kv_heads / gpus) / {which}kv_heads"
        parts.append(f"{which}layers * {which}slots * {which}layer_bytes{share}")
    if load.geometry.state.layers:
        parts.append("sequences * state_layers * ceil(state_bytes / gpus)")
    working.step("gpu_bytes", "On the fullest GPU", " + ".join(parts), "bytes")


def formula_code(load: Load) -> str:
    """The formula in one line, where one line is the whole truth; empty where layers differ."""
    group = load.groups()[0]
    plain = load.runtime.mode == "needed" and not load.runtime.shared_prefix and not group.window
    if len(load.groups()) > 1 or load.geometry.state.layers or not plain:
        return ""
    if load.dtype.block > 1 or load.dtype.vector_extra:
        return ""
    values = "latent" if group.latent else "2 * kv_heads * head_dim"
    return f"layers * {values} * tokens * sequences * bytes_per_value"


def formula_names(load: Load) -> dict[str, int]:
    """The numbers for `formula_code`."""
    group = load.groups()[0]
    return {
        "layers": group.layers,
        "latent": group.k_dim,
        "kv_heads": group.heads,
        "head_dim": group.k_dim,
        "tokens": load.tokens,
        "sequences": load.sequences,
        "bytes_per_value": load.dtype.block_bytes,
    }
