"""One way to count a KV cache, and its total: geometry, dtype, length, sequences, runtime, GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.kv_dtypes import DTYPES, KvDtype
from interview.calculators.formulas.kv_geometry import KvGeometry, LayerGroup
from interview.calculators.formulas.kv_inputs import KvCacheInputs
from interview.calculators.formulas.kv_modes import Runtime, stored
from interview.calculators.formulas.kv_own import geometry_of
from interview.calculators.formulas.kv_pool import group_size, with_padding
from interview.calculators.formulas.parameters import refuse
from interview.calculators.formulas.units import grouped


@dataclass(frozen=True, slots=True)
class Load:
    """One way to count: what is stored, for how long and how many sequences, in which dtype and runtime."""

    geometry: KvGeometry
    dtype: KvDtype
    tokens: int
    sequences: int
    runtime: Runtime
    tensor_parallel: int = 1

    def groups(self) -> tuple[LayerGroup, ...]:
        """Layer groups as one GPU holds them, vLLM's padding layers among them."""
        shares = tuple(g.split(self.tensor_parallel) for g in self.geometry.groups)
        return with_padding(shares, self.runtime)

    def block_bytes(self) -> int:
        """One of vLLM's blocks: its tokens in every layer of one group."""
        page = max(self.layer_bytes(g) for g in self.groups())
        return self.runtime.block * group_size(self.geometry.groups, self.runtime) * page

    def layer_bytes(self, group: LayerGroup) -> int:
        """Bytes per token slot and layer; vLLM pads every layer's page to the largest."""
        if self.runtime.mode == "vllm":
            return max(g.layer_bytes(self.dtype) for g in self.groups())
        return group.layer_bytes(self.dtype)

    def total(self) -> int:
        """All bytes, the constant state included."""
        cached = sum(
            g.layers * stored(g, self.tokens, self.sequences, self.runtime)[2] * self.layer_bytes(g)
            for g in self.groups()
        )
        state = self.geometry.state
        return cached + self.sequences * state.layers * state.layer_bytes(self.tensor_parallel)


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
    runtime = Runtime(
        inputs.mode,
        inputs.shared_prefix,
        inputs.ubatch,
        inputs.unified,
        inputs.swa_full,
        inputs.block,
        inputs.batched_tokens,
        not inputs.no_hybrid,
    )
    return Load(geometry, dtype, inputs.tokens, inputs.sequences, runtime)
