"""How vLLM lays layers with and without a window into one pool of blocks.

Source: vllm/v1/core/kv_cache_utils.py (`_get_kv_cache_groups_uniform_page_size`, `get_max_concurrency_for_kv_cache_config`).
Layers of a kind are divided into groups of one size, the smallest count of a kind, the last group filled with padding.
Where the largest count is under 1.25 times the smallest, it is the size. A block holds `block` tokens of one group's
layers; a request takes blocks for every group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from interview.calculators.formulas.kv_geometry import LayerGroup
from interview.calculators.formulas.kv_modes import Runtime


def is_divided(groups: Sequence[LayerGroup], runtime: Runtime) -> bool:
    """Does vLLM divide these layers into groups that share a pool? Else one group holds every layer."""
    several = len(groups) > 1 and any(g.window for g in groups)
    return runtime.mode == "vllm" and runtime.hybrid_manager and several


def group_size(groups: Sequence[LayerGroup], runtime: Runtime) -> int:
    """Layers that one block covers."""
    counts = [g.layers for g in groups]
    if not is_divided(groups, runtime):
        return sum(counts)
    least, most = min(counts), max(counts)
    return most if 4 * most < 5 * least else least


def with_padding(groups: tuple[LayerGroup, ...], runtime: Runtime) -> tuple[LayerGroup, ...]:
    """Each kind's layers filled up to whole groups; unchanged where nothing is divided."""
    if not is_divided(groups, runtime):
        return groups
    size = group_size(groups, runtime)
    return tuple(replace(g, layers=-(-g.layers // size) * size) for g in groups)
