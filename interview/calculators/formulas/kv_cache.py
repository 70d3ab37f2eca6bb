"""KV cache: the bytes a sequence's keys and values take, by model, dtype and runtime.

bytes = sum over layer groups of layers x token slots x heads x (K + V vector bytes), plus the constant state
of layers without a cache. MLA caches one latent of kv_lora_rank + rope values, without factor 2 and without
heads (DeepSeek-V2, arXiv 2405.04434). Grouped heads: arXiv 2305.13245.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from interview.calculators.formulas.kv_fits import fits_table
from interview.calculators.formulas.kv_inputs import KvCacheInputs
from interview.calculators.formulas.kv_load import Load, load_of
from interview.calculators.formulas.kv_pictures import curve, modes_table, wrong_bars
from interview.calculators.formulas.kv_steps import formula_code, formula_names, working_of
from interview.calculators.formulas.kv_warnings import warnings_for
from interview.calculators.formulas.result import Headline, Result, Value, program
from interview.calculators.formulas.units import binary_bytes, decimal_bytes, grouped

MOST_TOKENS = 10**12


def kv_cache(inputs: KvCacheInputs) -> Result:
    """Bytes of the KV cache for these inputs. Raises InputErrors where fields contradict each other."""
    load = load_of(inputs)
    working = working_of(load, inputs.tensor_parallel)
    results = _results(inputs, load)
    return Result(
        headline=_headline(load.total()),
        results=results,
        steps=tuple(working.steps),
        warnings=tuple(warnings_for(inputs, load)),
        charts=(curve(load), wrong_bars(load)),
        tables=(*fits_table(results), modes_table(load)),
        formula=formula_code(load),
        formula_names=formula_names(load),
        program=program(f"KV cache: {load.geometry.name}", working, "total_bytes"),
    )


def _headline(total: int) -> Headline:
    value, unit = decimal_bytes(total)
    return Headline(value, unit, " ".join(binary_bytes(total)), f"{grouped(total)} bytes")


def _results(inputs: KvCacheInputs, load: Load) -> dict[str, Value]:
    geometry, dtype = load.geometry, load.dtype
    one = replace(load, tensor_parallel=inputs.tensor_parallel)
    results: dict[str, Value] = {
        "bytes": load.total(),
        "bytes_per_token": sum(g.layers * g.layer_bytes(dtype) for g in geometry.groups),
        "bytes_per_token_beyond_window": sum(
            g.layers * g.layer_bytes(dtype) for g in geometry.groups if not g.window
        ),
        "bytes_per_sequence": replace(load, sequences=1).total(),
        "bytes_per_gpu": one.total(),
        "state_bytes_per_sequence": geometry.state.layers * load.state_bytes(),
    }
    values = {g.values() for g in geometry.groups}
    if len(values) == 1:
        results["values_per_token_per_layer"] = values.pop()
    if inputs.mode == "vllm" and (one.has_paged_state or not geometry.state.layers):
        results |= _pool(inputs, one)
    if inputs.memory_gib is not None:
        results |= _fits(one, int(inputs.memory_gib * 2**30))
    return results


def _pool(inputs: KvCacheInputs, load: Load) -> dict[str, Value]:
    """vLLM's pool: bytes of a block over a group's layers, and how many full-length requests the blocks hold.

    Source: vllm/v1/core/kv_cache_utils.py.
    """
    plan = load.plan()
    held: dict[str, Value] = {"block_tokens": plan.runtime.block, "block_bytes": plan.block_bytes}
    if load.is_divided:
        held["bytes_per_token_in_every_group"] = plan.block_groups * plan.block_bytes / plan.runtime.block
    blocks = inputs.blocks
    if blocks is None and inputs.memory_gib is not None:
        blocks = int(inputs.memory_gib * 2**30) // plan.block_bytes
    if blocks is None:
        return held
    needed = -(-plan.total(load.tokens, 1) // plan.block_bytes)
    concurrency = blocks / needed
    held |= {"blocks_per_request": needed, "blocks": blocks, "pool_bytes": blocks * plan.block_bytes}
    if load.is_divided:
        # The log line is concurrency x length; older versions shared the blocks out among the groups.
        held["token_capacity"] = blocks * inputs.tokens // needed
        held["token_capacity_in_older_logs"] = blocks // plan.block_groups * plan.runtime.block
    else:
        held["token_capacity"] = blocks * plan.runtime.block
    return held | {"max_concurrency": concurrency}


def _fits(load: Load, budget: int) -> dict[str, Value]:
    """The most tokens a sequence, and the most sequences of this length, within `budget` bytes."""
    plan = load.plan()
    tokens = _most(lambda n: plan.total(n, load.sequences) <= budget)
    sequences = _most(lambda n: plan.total(load.tokens, n) <= budget)
    return {"memory_bytes": budget, "tokens_that_fit": tokens, "sequences_that_fit": sequences}


def _most(fits: Callable[[int], bool]) -> int:
    """The largest n up to MOST_TOKENS for which a monotone test holds; 0 where none does."""
    low, high = 0, 1
    while high <= MOST_TOKENS and fits(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return min(low, MOST_TOKENS)
