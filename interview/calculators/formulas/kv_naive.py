"""The same input under the wrong assumptions other tools make, each named: which tool is right?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from interview.calculators.formulas.kv_dtypes import DTYPES, KvDtype
from interview.calculators.formulas.kv_geometry import KvGeometry, LayerGroup, StateSize

SHORT = {
    "query_heads": "without GQA",
    "hidden_over_heads": "hidden / heads",
    "hidden_size": "2 × hidden size",
    "no_window": "without windows",
    "no_factor_2": "keys only",
    "full_mla_heads": "without MLA",
    "mla_twice": "latent twice",
    "mla_no_rope": "without the rope key",
}


@dataclass(frozen=True, slots=True)
class Naive:
    """One wrong answer: its short id, the assumption behind it, and the geometry it amounts to."""

    id: str
    short: str
    assumption: str
    geometry: KvGeometry
    dtype: KvDtype
    tokens: int


def naive(geometry: KvGeometry, dtype: KvDtype, tokens: int) -> Iterator[Naive]:
    """Every wrong assumption that changes the answer for this geometry, commonest first."""
    plain = DTYPES["fp8"] if dtype.name == "fp8_ds_mla" else dtype
    for name, assumption, groups in _wrong_groups(geometry):
        yield Naive(name, SHORT[name], assumption, replace(geometry, groups=groups), plain, tokens)
    if geometry.layers_in_all > sum(g.layers for g in geometry.groups):
        grown = replace(geometry.groups[0], layers=geometry.layers_in_all)
        wrong = replace(geometry, groups=(grown,), state=StateSize())
        yield Naive(
            "every_layer", "a cache in every layer", "every layer keeps a growing cache", wrong, plain, tokens
        )
    binary = _other_k(tokens)
    if binary:
        note = f"the “k” is read as {'1024' if binary > tokens else '1000'}: {binary} tokens"
        yield Naive("other_k", "the other k", note, geometry, dtype, binary)


def _wrong_groups(geometry: KvGeometry) -> Iterator[tuple[str, str, tuple[LayerGroup, ...]]]:
    groups = geometry.groups
    if geometry.mla:
        yield from _wrong_latent(geometry, groups[0])
        return
    if geometry.heads and any(g.heads != geometry.heads for g in groups):
        every = tuple(replace(g, heads=geometry.heads) for g in groups)
        yield "query_heads", f"all {geometry.heads} query heads are cached (GQA ignored)", every
    yield from _wrong_width(geometry, groups)
    if geometry.windowed:
        unlimited = tuple(replace(g, window=None) for g in groups)
        yield "no_window", "every layer caches the full length (windows ignored)", unlimited
    keys_only = tuple(replace(g, v_dim=0) for g in groups)
    yield "no_factor_2", "keys are counted and values forgotten (no factor 2)", keys_only


def _wrong_width(
    geometry: KvGeometry, groups: tuple[LayerGroup, ...]
) -> Iterator[tuple[str, str, tuple[LayerGroup, ...]]]:
    if not geometry.heads or not geometry.hidden:
        return
    width = geometry.hidden // geometry.heads
    if width and any(g.k_dim != width for g in groups):
        narrow = tuple(replace(g, k_dim=width, v_dim=width) for g in groups)
        yield "hidden_over_heads", f"head_dim is taken as hidden/heads = {width}", narrow
    if width * geometry.heads == geometry.hidden and any(g.values() != 2 * geometry.hidden for g in groups):
        full = tuple(replace(g, heads=geometry.heads, k_dim=width, v_dim=width) for g in groups)
        if any(g.k_dim != width for g in groups):
            yield "hidden_size", "each layer caches 2 × hidden size", full


def _wrong_latent(
    geometry: KvGeometry, latent: LayerGroup
) -> Iterator[tuple[str, str, tuple[LayerGroup, ...]]]:
    mla = geometry.mla
    assert mla is not None
    if geometry.heads:
        key = mla.qk_nope_head_dim + mla.qk_rope_head_dim
        full = replace(latent, heads=geometry.heads, k_dim=key, v_dim=mla.v_head_dim, latent=False)
        yield "full_mla_heads", "keys and values of every head are cached (no MLA)", (full,)
    doubled = replace(latent, v_dim=latent.k_dim)
    yield "mla_twice", "the latent is counted once for keys and once for values", (doubled,)
    bare = replace(latent, k_dim=mla.kv_lora_rank, v_dim=mla.kv_lora_rank)
    yield "mla_no_rope", f"2 × {mla.kv_lora_rank}: factor 2 kept, rope key forgotten", (bare,)


def _other_k(tokens: int) -> int | None:
    """The token count under the other reading of “128k”, where the number looks like one."""
    for base, other in ((1000, 1024), (1024, 1000)):
        count = tokens // base
        if tokens % base == 0 and count >= 4 and count & (count - 1) == 0:
            return count * other
    return None
