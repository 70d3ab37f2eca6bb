"""What a reader of a KV number must know: each trap that this input steps near."""

from __future__ import annotations

from collections.abc import Iterator

from interview.calculators.formulas.kv_dtypes import KvDtype
from interview.calculators.formulas.kv_geometry import KvGeometry
from interview.calculators.formulas.kv_inputs import KvCacheInputs
from interview.calculators.formulas.kv_load import Load
from interview.calculators.formulas.units import grouped

LLAMA_CPP = ("fp32", "fp16", "bf16", "q8_0", "q4_0")
VLLM = ("fp16", "bf16", "fp8", "int8", "nvfp4", "fp8_ds_mla")


def warnings_for(inputs: KvCacheInputs, load: Load) -> Iterator[str]:
    """Sentences, most important first."""
    geometry, dtype = load.geometry, load.dtype
    yield from _about_length(inputs, geometry)
    yield from _about_heads(geometry)
    yield from _about_windows(inputs, geometry)
    yield from _about_groups(load)
    yield from _about_pool(inputs, load)
    yield from _about_dtype(inputs, geometry, dtype)
    yield from _about_gpus(inputs, geometry)
    if geometry.notes:
        yield f"{geometry.name}: {geometry.notes}"


def _about_length(inputs: KvCacheInputs, geometry: KvGeometry) -> Iterator[str]:
    if geometry.context and inputs.tokens > geometry.context:
        yield f"{grouped(inputs.tokens)} tokens exceed the model’s context of {grouped(geometry.context)}."
    thousands = inputs.tokens // 1000
    if inputs.tokens % 1000 == 0 and thousands >= 4 and thousands & (thousands - 1) == 0:
        other = grouped(thousands * 1024)
        yield f"“{thousands}k” may also mean {other} tokens, 2.4% more: say which one you use."


def _about_heads(geometry: KvGeometry) -> Iterator[str]:
    if geometry.mla or not geometry.heads or not geometry.hidden:
        return
    width = geometry.groups[0].k_dim
    if geometry.hidden != width * geometry.heads:
        naive = geometry.hidden / geometry.heads
        yield f"head_dim is {width}; hidden / heads would give {naive:g}: read head_dim from the config."
    if geometry.heads % geometry.groups[0].heads:
        yield f"{geometry.heads} query heads do not share {geometry.groups[0].heads} KV heads evenly."


def _about_windows(inputs: KvCacheInputs, geometry: KvGeometry) -> Iterator[str]:
    if not geometry.windowed:
        return
    window = next(g.window for g in geometry.groups if g.window)
    if geometry.context and window >= geometry.context:
        yield "The window is not smaller than the context, so it never limits anything."
    if any(g.chunked for g in geometry.groups):
        yield "Chunked attention: a local layer fills one chunk, empties and refills; this is the peak."
    if inputs.mode == "llama.cpp" and inputs.swa_full:
        yield "With --swa-full llama.cpp keeps the full length on the window layers too."
    if inputs.mode == "vllm" and inputs.no_hybrid:
        yield "Without the hybrid cache manager vLLM keeps the full length on every layer."
    yield "Bytes per token is not a constant here: past the window only the full layers grow."


def _about_groups(load: Load) -> Iterator[str]:
    """vLLM's groups of layers that share one pool, and the padding among them."""
    if not load.is_divided:
        return
    plan = load.plan()
    layers = sum(g.layers for g in plan.groups) + plan.state_layers
    padding = layers - sum(g.layers for g in load.geometry.groups) - load.geometry.state.layers
    filled = f", {padding} of them padding" if padding else ""
    groups = f"{plan.block_groups} groups of {plan.size}{filled}"
    yield f"vLLM divides the layers into {groups}; a block covers one group."
    larger = next((g for g in plan.groups if g.page_blocks > 1), None)
    if larger:
        tokens = larger.page_blocks * plan.runtime.block
        yield f"Pages have one size, so a page of the {larger.label} layers takes {grouped(tokens)} tokens."


def _about_pool(inputs: KvCacheInputs, load: Load) -> Iterator[str]:
    if inputs.mode != "vllm" or not load.geometry.state.layers:
        return
    if not load.has_paged_state:
        yield (
            "vLLM raises the block size of such a model until a page holds a layer’s constant state; with an MLA latent "
            "that isn’t counted, so no pool is shown, GPU blocks are not used, and what fits is an upper bound."
        )
        return
    plan = load.plan()
    block = grouped(plan.runtime.block)
    if plan.runtime.block > inputs.block:
        yield f"vLLM raises the block to {block} tokens, so that a page holds the constant state of a layer."
    yield (
        f"Every request takes at least {plan.block_groups} blocks of {block} tokens, and with prefix caching "
        "only whole blocks are found again."
    )


def _about_dtype(inputs: KvCacheInputs, geometry: KvGeometry, dtype: KvDtype) -> Iterator[str]:
    known = {"llama.cpp": LLAMA_CPP, "vllm": VLLM}.get(inputs.mode)
    if known and dtype.name not in known:
        yield f"{inputs.mode} has no {dtype.name} cache, as far as is known; the size is what it would be."
    if dtype.name in ("q8_0", "q4_0") and any(g.k_dim % 32 for g in geometry.groups):
        yield "head_dim is not a multiple of 32: llama.cpp refuses this block type; whole blocks are counted."
    if geometry.mla and dtype.name in ("int8", "nvfp4"):
        yield "Scales are counted once a latent; check that your runtime stores an MLA cache this way."
    if dtype.name == "fp8":
        yield "fp8 scales are one number a tensor and are left out."


def _about_gpus(inputs: KvCacheInputs, geometry: KvGeometry) -> Iterator[str]:
    gpus, group = inputs.tensor_parallel, geometry.groups[0]
    if gpus > 1 and group.latent:
        yield "An MLA latent has no heads to divide: every tensor-parallel GPU keeps a full copy."
    elif gpus > group.heads:
        yield f"{gpus} GPUs share {group.heads} KV heads: heads are copied, a GPU never holds less than one."
    elif group.heads % gpus:
        yield f"{group.heads} KV heads do not divide evenly over {gpus} GPUs; the fullest GPU is counted."
    if inputs.mode == "llama.cpp" and inputs.shared_prefix and inputs.sequences > 1:
        yield "llama.cpp allocates every slot in full: the shared prefix saves nothing here."
    if geometry.state.layers:
        yield _about_state(inputs, geometry)


def _about_state(inputs: KvCacheInputs, geometry: KvGeometry) -> str:
    if geometry.state.typed_bytes:
        return "Layers without a cache keep a constant state: the bytes typed."
    recurrent = "2 bytes" if inputs.state_dtype == "bf16" else "fp32"
    kept = f"recurrent {recurrent}, convolution inputs 2 bytes"
    if inputs.mode == "llama.cpp":
        kept = "llama.cpp keeps all of it in fp32"
    return f"Layers without a cache keep a constant state ({kept})."
