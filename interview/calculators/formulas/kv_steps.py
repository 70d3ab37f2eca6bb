"""The working of a KV cache, line by line."""

from __future__ import annotations

from dataclasses import replace

from interview.calculators.formulas.kv_dtypes import KvDtype
from interview.calculators.formulas.kv_geometry import LayerGroup
from interview.calculators.formulas.kv_load import Load, Plan
from interview.calculators.formulas.kv_modes import stored
from interview.calculators.formulas.kv_pool import ALIGNED, STATES
from interview.calculators.formulas.result import Working


def working_of(load: Load, gpus: int) -> Working:
    """Steps from one vector to `total_bytes`, and to `gpu_bytes` where several GPUs share it."""
    working, plan = Working(), load.plan()
    alone = len(plan.groups) == 1 and not plan.state_layers
    if load.has_paged_state:
        _block_step(working, load, plan)
    parts = [_group_steps(working, load, plan, i, alone) for i in range(len(plan.groups))]
    if plan.state_layers:
        parts.append(_state_step(working, load, plan))
    if not alone:
        working.step("total_bytes", "KV cache", " + ".join(parts), "bytes")
    if gpus > 1:
        _gpu_step(working, load, gpus)
    return working


def _block_step(working: Working, load: Load, plan: Plan) -> None:
    """vLLM's block, raised until a page of keys and values holds the state of a layer."""
    largest = max(plan.slot_bytes)
    working.given(block_asked=load.runtime.block, aligned=ALIGNED, state_bytes=load.state_bytes())
    working.given(largest_layer=largest)
    code = "max(block_asked, aligned * ceil(state_bytes / (aligned * largest_layer)))"
    working.step("block", "Block, raised until a page holds a layer’s state", code, "tokens")


def _state_step(working: Working, load: Load, plan: Plan) -> str:
    working.given(state_layers=plan.state_layers, state_bytes=load.state_bytes(), sequences=load.sequences)
    if load.has_paged_state:
        working.given(states=STATES[load.runtime.mamba_cache_mode])
        code = "sequences * state_layers * states * block * largest_layer"
        label = "Pages of the layers that keep a constant state"
    else:
        code, label = "sequences * state_layers * state_bytes", "State of the layers that keep no cache"
    working.step("constant_state", label, code, "bytes")
    return "constant_state"


def _group_steps(working: Working, load: Load, plan: Plan, i: int, alone: bool) -> str:
    group, slot = plan.groups[i], plan.slot_bytes[i]
    which = "" if len(plan.groups) == 1 else f"{group.label}_"
    title = f" of the {group.label} layers" if which else ""
    _give(working, load, group, which)
    working.given(**{f"{which}page_slot": slot})
    own = slot == group.layer_bytes(load.dtype)
    code = _layer_code(load.dtype, group, which) if own else f"{which}page_slot"
    working.step(f"{which}layer_bytes", f"Bytes per token and layer{title}", code, "bytes")
    slots, slot_names, _ = stored(group, load.tokens, load.sequences, plan.runtime)
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
    one = replace(load, tensor_parallel=gpus)
    plan = one.plan()
    if one.is_divided:
        blocks = plan.total(load.tokens, load.sequences) // plan.block_bytes
        working.given(gpu_blocks=blocks, gpu_block_bytes=plan.block_bytes)
        working.step("gpu_bytes", "On the fullest GPU: blocks", "gpu_blocks * gpu_block_bytes", "bytes")
        return
    working.given(gpus=gpus)
    parts = []
    for group in plan.groups:
        which = "" if len(plan.groups) == 1 else f"{group.label}_"
        share = "" if group.latent else f" * ceil({which}kv_heads / gpus) / {which}kv_heads"
        parts.append(f"{which}layers * {which}slots * {which}layer_bytes{share}")
    if plan.state_layers:
        parts.append("sequences * state_layers * ceil(state_bytes / gpus)")
    working.step("gpu_bytes", "On the fullest GPU", " + ".join(parts), "bytes")


def formula_code(load: Load) -> str:
    """The formula in one line, where one line is the whole truth; empty where layers differ."""
    group = load.geometry.groups[0]
    plain = load.runtime.mode == "needed" and not load.runtime.shared_prefix and not group.window
    if len(load.geometry.groups) > 1 or load.geometry.state.layers or not plain:
        return ""
    if load.dtype.block > 1 or load.dtype.vector_extra:
        return ""
    values = "latent" if group.latent else "2 * kv_heads * head_dim"
    return f"layers * {values} * tokens * sequences * bytes_per_value"


def formula_names(load: Load) -> dict[str, int]:
    """The numbers for `formula_code`."""
    group = load.geometry.groups[0]
    return {
        "layers": group.layers,
        "latent": group.k_dim,
        "kv_heads": group.heads,
        "head_dim": group.k_dim,
        "tokens": load.tokens,
        "sequences": load.sequences,
        "bytes_per_value": load.dtype.block_bytes,
    }
