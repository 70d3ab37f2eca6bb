"""A model's weights part by part, counted from its geometry: how many, which are matrices, which one token uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from interview.calculators.formulas.models import Geometry, Mla, Moe

SINK_FAMILIES = ("gpt-oss",)


@dataclass(frozen=True, slots=True)
class Part:
    """`params` weights in `group`; `matrix` of them multiply a vector, `active` of them serve one token."""

    group: str
    name: str
    params: int
    matrix: int = 0
    active: int | None = None
    active_matrix: int | None = None
    layers: int = 1

    @property
    def used(self) -> int:
        """Weights one token passes through."""
        return self.params if self.active is None else self.active

    @property
    def used_matrix(self) -> int:
        """Matrix weights one token passes through."""
        return self.matrix if self.active_matrix is None else self.active_matrix


@lru_cache(maxsize=256)
def parts(model: Geometry) -> tuple[Part, ...]:
    """Every part of the model. Their sum is the parameter count."""
    return (*_tables(model), *_mixers(model), *_feed_forward(model), *_norms(model))


def total(model: Geometry) -> int:
    """All parameters, a tied head counted once."""
    return sum(p.params for p in parts(model))


def group_total(model: Geometry, group: str) -> int:
    """Parameters of one group: embedding, positions, attention, ffn, norms or lm_head."""
    return sum(p.params for p in parts(model) if p.group == group)


def active(model: Geometry) -> int:
    """Parameters one token passes through, the input embedding included."""
    return sum(p.used for p in parts(model))


@lru_cache(maxsize=256)
def token_matrices(model: Geometry) -> int:
    """Matrix weights one token is multiplied with; the head counts even where it is tied."""
    blocks = sum(p.used_matrix for p in parts(model) if p.group in ("attention", "ffn"))
    return blocks + model.vocab_size * model.hidden_size


def _tables(model: Geometry) -> Iterator[Part]:
    table = model.vocab_size * model.hidden_size
    yield Part("embedding", "token embedding", table)
    if model.block.learned_positions:
        yield Part("positions", "learned positions", model.block.learned_positions * model.hidden_size)
    head = 0 if model.tie_word_embeddings else table
    bias = model.vocab_size if model.block.lm_head_bias else 0
    if head or bias:
        yield Part("lm_head", "output head", head + bias, head)


def _mixers(model: Geometry) -> Iterator[Part]:
    local = model.cache_layers
    if model.global_attention and model.window:
        local = model.window.pattern.count("S")
        wide = model.global_attention
        keys = 1 if wide.k_eq_v else 2
        yield _attention(
            model, model.n_layers - local, wide.n_kv_heads, wide.head_dim, keys, "full attention"
        )
    if model.mla:
        matrix, norms = _latent(model, model.mla)
        yield Part(
            "attention", "latent attention", model.n_layers * (matrix + norms), model.n_layers * matrix
        )
    else:
        yield _attention(model, local, model.n_kv_heads, model.head_dim, 2, "attention")
    if model.state:
        states = model.state.layers * model.state.layer_params
        yield Part("attention", model.state.kind, states, states, layers=model.state.layers)


def _attention(model: Geometry, layers: int, kv_heads: int, head_dim: int, keys: int, name: str) -> Part:
    query, kv = model.n_heads * head_dim, kv_heads * head_dim
    gates = 2 if model.gated_q else 1
    matrix = model.hidden_size * (gates * query + keys * kv + query)
    extra = _biases(model, query, kv) + _qk_norms(model, head_dim, kv_heads)
    extra += model.n_heads if model.family in SINK_FAMILIES else 0
    return Part("attention", name, layers * (matrix + extra), layers * matrix, layers=layers)


def _biases(model: Geometry, query: int, kv: int) -> int:
    count = query + 2 * kv if model.block.qkv_bias else 0
    return count + (model.hidden_size if model.block.o_bias else 0)


def _qk_norms(model: Geometry, head_dim: int, kv_heads: int) -> int:
    if model.block.qk_norm == "head":
        return 2 * head_dim
    if model.block.qk_norm in ("full", "head_ln_per_head"):
        return (model.n_heads + kv_heads) * head_dim
    return 0


def _latent(model: Geometry, mla: Mla) -> tuple[int, int]:
    """(matrix weights, norm weights) of one latent attention layer."""
    key = mla.qk_nope_head_dim + mla.qk_rope_head_dim
    if mla.q_lora_rank:
        query = mla.q_lora_rank * (model.hidden_size + model.n_heads * key)
    else:
        query = model.hidden_size * model.n_heads * key
    down = model.hidden_size * (mla.kv_lora_rank + mla.qk_rope_head_dim)
    up = mla.kv_lora_rank * model.n_heads * (mla.qk_nope_head_dim + mla.v_head_dim)
    out = model.n_heads * mla.v_head_dim * model.hidden_size
    return query + down + up + out, mla.kv_lora_rank + (mla.q_lora_rank or 0)


def _mlp(model: Geometry, width: int) -> tuple[int, int]:
    """(matrix weights, biases) of one feed-forward layer of this width."""
    mats = 3 if model.block.mlp == "gated" else 2
    biases = (mats - 1) * width + model.hidden_size if model.block.mlp_bias else 0
    return mats * model.hidden_size * width, biases


def _feed_forward(model: Geometry) -> Iterator[Part]:
    if model.moe is None:
        layers = model.pattern.count("-") if model.single_mixer and model.pattern else model.n_layers
        matrix, biases = _mlp(model, model.intermediate_size)
        yield Part("ffn", "feed-forward", layers * (matrix + biases), layers * matrix, layers=layers)
        return
    yield from _experts(model, model.moe)


def _expert_layers(model: Geometry, moe: Moe) -> int:
    candidates = range(moe.first_dense_layers, model.n_layers)
    return sum(1 for i in candidates if i % moe.layer_step == moe.layer_offset % moe.layer_step)


def _experts(model: Geometry, moe: Moe) -> Iterator[Part]:
    layers = _expert_layers(model, moe)
    dense = model.n_layers if moe.parallel_dense else model.n_layers - layers
    if dense:
        matrix, biases = _mlp(model, moe.dense_intermediate or model.intermediate_size)
        yield Part("ffn", "dense feed-forward", dense * (matrix + biases), dense * matrix, layers=dense)
    one, _ = _mlp(model, moe.expert_intermediate)
    router = model.hidden_size * moe.n_experts
    yield Part("ffn", "router", layers * (router + moe.router_bias), layers * router, layers=layers)
    yield Part(
        "ffn",
        "experts",
        layers * moe.n_experts * (one + moe.expert_bias),
        layers * moe.n_experts * one,
        layers * moe.n_active * (one + moe.expert_bias),
        layers * moe.n_active * one,
        layers,
    )
    if moe.n_shared:
        shared, _ = _mlp(model, moe.shared_intermediate or moe.n_shared * moe.expert_intermediate)
        gate = model.hidden_size if moe.shared_gate else 0
        yield Part("ffn", "shared experts", layers * (shared + gate), layers * (shared + gate), layers=layers)


def _norms(model: Geometry) -> Iterator[Part]:
    width = model.hidden_size * (2 if model.block.norm == "ln" else 1)
    count = model.block.norms_per_layer * model.n_layers + 1 + int(model.block.embedding_norm)
    yield Part("norms", "norms", count * width)
