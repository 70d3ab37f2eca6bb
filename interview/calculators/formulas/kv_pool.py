"""How vLLM lays layers of several kinds into one pool of blocks that all have the same size.

Sources: vllm/v1/core/kv_cache_utils.py (`_get_kv_cache_groups_uniform_page_size`, `unify_kv_cache_spec_page_size`,
`get_max_concurrency_for_kv_cache_config`) and vllm/platforms/interface.py (`_align_hybrid_block_size`).
Layers of a kind are divided into groups of one size, the smallest count of a kind, the last group filled with padding.
Where the largest count is under 1.5 times the smallest, it is the size. A block holds `block` tokens of one group's
layers; a request takes blocks for every group. A page must hold a layer's constant state, so the block is raised until
it does. A layer with smaller vectors takes more tokens a page where that comes out even; else its page is padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from interview.calculators.formulas.kv_dtypes import KvDtype
from interview.calculators.formulas.kv_geometry import LayerGroup

# Attention kernels take blocks of a multiple of this many tokens.
ALIGNED = 16
# Pages of state a request takes: one, or the running and the last kept one.
STATES = {"none": 1, "align": 2}


def group_size(counts: Sequence[int]) -> int:
    """Layers that one block covers, by how many layers there are of each kind."""
    least, most = min(counts), max(counts)
    return most if 2 * most < 3 * least else least


def padded(layers: int, size: int) -> int:
    """Layers of a kind filled up to whole groups."""
    return -(-layers // size) * size


def raised(block: int, layer_bytes: int, state_bytes: int) -> int:
    """The block size with which a page of keys and values is at least as large as a layer's state."""
    return max(block, ALIGNED * -(-state_bytes // (ALIGNED * layer_bytes)))


def paged(groups: Sequence[LayerGroup], size: int, dtype: KvDtype) -> tuple[LayerGroup, ...]:
    """Each kind filled up to whole groups, with the blocks of tokens that one of its pages holds."""
    largest = max(g.layer_bytes(dtype) for g in groups)
    return tuple(
        replace(g, layers=padded(g.layers, size), page_blocks=_even(largest, g.layer_bytes(dtype)))
        for g in groups
    )


def _even(largest: int, own: int) -> int:
    return largest // own if largest % own == 0 else 1
