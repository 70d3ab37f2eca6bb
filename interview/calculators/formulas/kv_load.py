"""One way to count a KV cache, and its total: geometry, dtype, length, sequences, runtime, GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.kv_dtypes import DTYPES, KvDtype
from interview.calculators.formulas.kv_geometry import KvGeometry, LayerGroup
from interview.calculators.formulas.kv_inputs import KvCacheInputs
from interview.calculators.formulas.kv_modes import Runtime, stored
from interview.calculators.formulas.kv_own import geometry_of
from interview.calculators.formulas.kv_pool import STATES, group_size, padded, paged, raised
from interview.calculators.formulas.parameters import refuse
from interview.calculators.formulas.units import grouped


@dataclass(frozen=True, slots=True)
class Plan:
    """What does not depend on the length: groups with their bytes per token slot, and the state of a sequence."""

    groups: tuple[LayerGroup, ...]
    slot_bytes: tuple[int, ...]
    runtime: Runtime
    state_layers: int = 0
    state_bytes: int = 0
    size: int = 0
    block_slot_bytes: int = 0

    @property
    def block_bytes(self) -> int:
        """One of vLLM's blocks: its tokens in every layer that it covers."""
        return self.runtime.block * self.block_slot_bytes

    @property
    def block_groups(self) -> int:
        """Groups of layers that each take blocks of their own."""
        return (sum(g.layers for g in self.groups) + self.state_layers) // self.size

    def total(self, tokens: int, sequences: int) -> int:
        """All bytes, the constant state included."""
        cached = sum(
            g.layers * stored(g, tokens, sequences, self.runtime)[2] * slot
            for g, slot in zip(self.groups, self.slot_bytes, strict=True)
        )
        return cached + sequences * self.state_layers * self.state_bytes


@dataclass(frozen=True, slots=True)
class Load:
    """One way to count: what is stored, for how long and how many sequences, in which dtype and runtime."""

    geometry: KvGeometry
    dtype: KvDtype
    tokens: int
    sequences: int
    runtime: Runtime
    tensor_parallel: int = 1

    @property
    def has_paged_state(self) -> bool:
        """Does a constant state lie in vLLM's pages? An MLA latent beside one is not counted so."""
        return self.runtime.mode == "vllm" and bool(self.geometry.state.layers) and not self.geometry.mla

    @property
    def is_divided(self) -> bool:
        """Does vLLM divide the layers into groups that share a pool? Else one group holds every layer."""
        groups = self.geometry.groups
        several = len(groups) > 1 and any(g.window for g in groups) and self.runtime.hybrid_manager
        return self.runtime.mode == "vllm" and (several or self.has_paged_state)

    def plan(self) -> Plan:
        """Groups, pages and state as one GPU holds them."""
        shares = tuple(g.split(self.tensor_parallel) for g in self.geometry.groups)
        layers, state = self.geometry.state.layers, self.state_bytes()
        if not self.is_divided:
            slots = tuple(g.layer_bytes(self.dtype) for g in shares)
            covered = sum(g.layers * slot for g, slot in zip(shares, slots, strict=True))
            return Plan(shares, slots, self.runtime, layers, state, sum(g.layers for g in shares), covered)
        size = self.group_size()
        groups, largest = paged(shares, size, self.dtype), max(g.layer_bytes(self.dtype) for g in shares)
        slots = tuple(largest // g.page_blocks for g in groups)
        runtime = self.runtime
        if layers:
            runtime = runtime.with_block(raised(runtime.block, largest, state))
        page = STATES[runtime.mamba_cache_mode] * runtime.block * largest
        return Plan(groups, slots, runtime, padded(layers, size), page if layers else 0, size, size * largest)

    def group_size(self) -> int:
        """Layers that one of vLLM's blocks covers."""
        counts = [g.layers for g in self.geometry.groups]
        if self.has_paged_state:
            counts.append(self.geometry.state.layers)
        return group_size(counts)

    def state_bytes(self) -> int:
        """Constant state of one layer and sequence on one GPU, as this runtime keeps it."""
        # llama.cpp keeps all of it in fp32.
        in_fp32 = self.runtime.mode == "llama.cpp"
        recurrent = 4 if in_fp32 else self.runtime.state_value_bytes
        return self.geometry.state.layer_bytes(self.tensor_parallel, recurrent, 4 if in_fp32 else 2)

    def total(self) -> int:
        """All bytes, the constant state included."""
        return self.plan().total(self.tokens, self.sequences)


def load_of(inputs: KvCacheInputs) -> Load:
    """What these inputs ask for. Raises InputErrors where fields contradict each other."""
    if inputs.shared_prefix > inputs.tokens:
        raise refuse("shared_prefix", f"is longer than the sequence of {grouped(inputs.tokens)} tokens")
    geometry = geometry_of(inputs)
    dtype = DTYPES[inputs.dtype]
    if dtype.name == "fp8_ds_mla" and not (geometry.groups[0].latent and geometry.groups[0].k_dim == 576):
        raise refuse(
            "dtype", "fp8_ds_mla holds an MLA latent of 512 with a rope key of 64; this model has none"
        )
    if inputs.mode == "vllm" and inputs.no_hybrid and geometry.state.layers:
        raise refuse("no_hybrid", "vLLM keeps a constant state only with its hybrid cache manager: untick it")
    return Load(geometry, dtype, inputs.tokens, inputs.sequences, _runtime(inputs))


def _runtime(inputs: KvCacheInputs) -> Runtime:
    return Runtime(
        inputs.mode,
        inputs.shared_prefix,
        inputs.ubatch,
        inputs.unified,
        inputs.swa_full,
        inputs.block,
        inputs.batched_tokens,
        not inputs.no_hybrid,
        inputs.mamba_cache_mode,
        4 if inputs.state_dtype == "fp32" else 2,
    )
