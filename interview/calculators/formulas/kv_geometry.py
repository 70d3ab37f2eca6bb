"""What a model caches: groups of layers alike in heads and window, and the state that does not grow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from interview.calculators.formulas.kv_dtypes import KvDtype
from interview.calculators.formulas.models import Geometry, Mla


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """`layers` layers that each cache `heads` keys of `k_dim` and values of `v_dim` a token."""

    label: str
    layers: int
    heads: int
    k_dim: int
    v_dim: int
    window: int | None = None
    chunked: bool = False
    latent: bool = False
    page_blocks: int = 1

    def values(self) -> int:
        """Numbers cached per token and layer."""
        return self.heads * (self.k_dim + self.v_dim)

    def layer_bytes(self, dtype: KvDtype) -> int:
        """Bytes per token and layer."""
        value = dtype.vector_bytes(self.v_dim) if self.v_dim else 0
        return self.heads * (dtype.vector_bytes(self.k_dim) + value)

    def split(self, tensor_parallel: int) -> LayerGroup:
        """The share of one GPU: heads are divided, never below one; an MLA latent is copied whole."""
        return self if self.latent else replace(self, heads=-(-self.heads // tensor_parallel))


@dataclass(frozen=True, slots=True)
class StateSize:
    """Values per sequence that do not grow with its length; `typed_bytes` are those of all layers together."""

    layers: int = 0
    recurrent_values: int = 0
    conv_values: int = 0
    typed_bytes: int = 0

    def layer_bytes(self, tensor_parallel: int = 1, recurrent: int = 4, conv: int = 2) -> int:
        """Bytes per layer and sequence: usually the recurrent state in fp32, convolution inputs in 2 bytes."""
        values = recurrent * self.recurrent_values + conv * self.conv_values
        typed = -(-self.typed_bytes // self.layers) if self.layers else 0
        return -(-(values + typed) // tensor_parallel)


@dataclass(frozen=True, slots=True)
class KvGeometry:
    """All a KV calculation needs to know of a model; the rest of a config does not matter."""

    name: str
    groups: tuple[LayerGroup, ...]
    state: StateSize = StateSize()
    layers_in_all: int = 0
    heads: int | None = None
    hidden: int | None = None
    context: int | None = None
    mla: Mla | None = None
    notes: str = ""

    @property
    def windowed(self) -> bool:
        """Does any layer look back only so far?"""
        return any(g.window for g in self.groups)


@lru_cache(maxsize=256)
def of_model(model: Geometry) -> KvGeometry:
    """The cached geometry of a registered model."""
    return KvGeometry(
        name=model.name,
        groups=_groups(model),
        state=_state(model),
        layers_in_all=model.n_layers,
        heads=model.n_heads,
        hidden=model.hidden_size,
        context=model.max_position,
        mla=model.mla,
        notes=model.notes,
    )


def _groups(model: Geometry) -> tuple[LayerGroup, ...]:
    if model.mla:
        width = model.mla.kv_lora_rank + model.mla.qk_rope_head_dim
        return (LayerGroup("latent", model.n_layers, 1, width, 0, latent=True),)
    plain = LayerGroup("full", model.cache_layers, model.n_kv_heads, model.head_dim, model.head_dim)
    if model.window is None:
        return (plain,)
    return _windowed(model, plain)


def _windowed(model: Geometry, plain: LayerGroup) -> tuple[LayerGroup, ...]:
    assert model.window is not None
    local, full = model.window.pattern.count("S"), model.window.pattern.count("F")
    label = "chunked" if model.window.chunked else "sliding"
    limited = replace(
        plain, label=label, layers=local, window=model.window.size, chunked=model.window.chunked
    )
    everywhere = replace(plain, layers=full)
    if model.global_attention:
        wide = model.global_attention
        everywhere = LayerGroup("full", full, wide.n_kv_heads, wide.head_dim, wide.head_dim)
    return tuple(g for g in (limited, everywhere) if g.layers)


def _state(model: Geometry) -> StateSize:
    if model.state is None:
        return StateSize()
    return StateSize(model.state.layers, model.state.recurrent_values, model.state.conv_values)
