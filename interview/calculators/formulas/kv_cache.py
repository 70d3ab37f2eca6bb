"""KV cache: the bytes a sequence's keys and values take, by model, dtype and runtime.

bytes = sum over layer groups of layers x token slots x heads x (K + V vector bytes), plus the constant state
of layers without a cache. MLA caches one latent of kv_lora_rank + rope values, without factor 2 and without
heads (DeepSeek-V2, arXiv 2405.04434). Grouped heads: arXiv 2305.13245.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
    return Result(
        headline=_headline(load.total()),
        results=_results(inputs, load),
        steps=tuple(working.steps),
        warnings=tuple(warnings_for(inputs, load.geometry, load.dtype)),
        charts=(curve(load), wrong_bars(load)),
        tables=(modes_table(load),),
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
    state = geometry.state.layers * geometry.state.layer_bytes()
    results: dict[str, Value] = {
        "bytes": load.total(),
        "bytes_per_token": sum(g.layers * g.layer_bytes(dtype) for g in geometry.groups),
        "bytes_per_token_beyond_window": sum(
            g.layers * g.layer_bytes(dtype) for g in geometry.groups if not g.window
        ),
        "bytes_per_sequence": replace(load, sequences=1).total(),
        "bytes_per_gpu": one.total(),
        "state_bytes_per_sequence": state,
    }
    values = {g.values() for g in geometry.groups}
    if len(values) == 1:
        results["values_per_token_per_layer"] = values.pop()
    if inputs.mode == "vllm" and not geometry.state.layers:
        results |= _pool(inputs, one)
    if inputs.memory_gib is not None:
        results |= _fits(one, int(inputs.memory_gib * 2**30))
    return results


def _pool(inputs: KvCacheInputs, load: Load) -> dict[str, Value]:
    """vLLM's pool: bytes of a block over a group's layers, and how many full-length requests the blocks hold.

    Source: vllm/v1/core/kv_cache_utils.py.
    """
    block_bytes = load.block_bytes()
    blocks = inputs.blocks
    if blocks is None and inputs.memory_gib is not None:
        blocks = int(inputs.memory_gib * 2**30) // block_bytes
    if blocks is None:
        return {"block_bytes": block_bytes}
    needed = replace(load, sequences=1).total() // block_bytes
    concurrency = blocks / needed
    return {
        "block_bytes": block_bytes,
        "blocks_per_request": needed,
        "blocks": blocks,
        "pool_bytes": blocks * block_bytes,
        # With windows vLLM's log line is concurrency x length, not blocks x block size.
        "token_capacity": blocks * inputs.block
        if not load.geometry.windowed
        else int(concurrency * inputs.tokens),
        "max_concurrency": concurrency,
    }


def _fits(load: Load, budget: int) -> dict[str, Value]:
    """The most tokens a sequence, and the most sequences of this length, within `budget` bytes."""
    tokens = _most(lambda n: replace(load, tokens=n).total() <= budget)
    sequences = _most(lambda n: replace(load, sequences=n).total() <= budget)
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
