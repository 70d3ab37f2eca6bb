"""A model's shape typed by hand, for the calculators that count weights and FLOPs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from interview.calculators.formulas.models import Block, Geometry, Moe, Window, models
from interview.calculators.formulas.parameters import OWN_MODEL, FieldError, InputErrors, refuse

GROUP = "Own geometry"
QK_NORMS = (
    ("none", "not normalised"),
    ("head", "one norm for all heads"),
    ("full", "one norm over all heads’ width"),
)
MLPS = (("plain", "two matrices"), ("gated", "three (gated)"))


@dataclass(frozen=True, slots=True)
class Shape:
    """What may be typed of a model; None is left out. A calculator takes some of these under the same names."""

    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate: int | None = None
    vocabulary: int | None = None
    mlp: str = "plain"
    tied: bool = False
    experts: int | None = None
    active_experts: int | None = None
    qkv_bias: bool = False
    qk_norm: str = "none"
    norms: int = 2
    window: int | None = None
    window_layers: int | None = None


def prepare(given: dict[str, str]) -> dict[str, str]:
    """A hidden size without a model means `model=own`."""
    if not given.get("model") and (given.get("hidden") or given.get("layers")):
        return {**given, "model": OWN_MODEL}
    return given


def geometry_of(inputs: Any, needed: tuple[str, ...]) -> Geometry:
    """The registered model, or the typed one. Raises InputErrors for missing fields and for those that go with neither."""
    shape = Shape(**{f.name: getattr(inputs, f.name) for f in fields(Shape) if hasattr(inputs, f.name)})
    if inputs.model != OWN_MODEL:
        wrong = [f.name for f in fields(Shape) if getattr(shape, f.name) != f.default]
        message = f"describes an own geometry: empty it, or choose model={OWN_MODEL}"
        if wrong:
            raise InputErrors(*(FieldError(name, message) for name in wrong))
        return models()[inputs.model]
    missing = [name for name in needed if getattr(shape, name) is None]
    if missing:
        raise InputErrors(*(FieldError(name, "is needed for an own geometry") for name in missing))
    return _made(shape)


def _made(shape: Shape) -> Geometry:
    assert shape.layers and shape.hidden
    heads = shape.heads or max(1, shape.hidden // 128)
    width = shape.intermediate or 4 * shape.hidden
    return Geometry(
        id=OWN_MODEL,
        name="own geometry",
        family="own",
        n_layers=shape.layers,
        hidden_size=shape.hidden,
        n_heads=heads,
        n_kv_heads=shape.kv_heads or heads,
        head_dim=shape.head_dim or max(1, shape.hidden // heads),
        intermediate_size=width,
        vocab_size=shape.vocabulary or 0,
        tie_word_embeddings=shape.tied,
        max_position=0,
        dtype="bfloat16",
        block=_block(shape),
        window=_window(shape),
        mla=None,
        moe=_experts(shape, width),
        state=None,
        global_attention=None,
        pattern=None,
        gated_q=False,
        single_mixer=False,
        params_stated=0,
        params_active_stated=None,
        params_check="",
        notes="",
        source="",
    )


def _block(shape: Shape) -> Block:
    norm = None if shape.qk_norm == "none" else shape.qk_norm
    return Block(shape.mlp, shape.qkv_bias, False, False, "rms", shape.norms, norm, 0, False, False)


def _experts(shape: Shape, width: int) -> Moe | None:
    if shape.experts is None:
        if shape.active_experts is not None:
            raise refuse("active_experts", "goes with experts: give experts too")
        return None
    active = shape.active_experts
    if active is None:
        raise refuse("active_experts", "is needed: how many experts does a token use?")
    if active > shape.experts:
        raise refuse("active_experts", f"is more than the {shape.experts} experts")
    return Moe(shape.experts, active, 0, width)


def _window(shape: Shape) -> Window | None:
    assert shape.layers
    if shape.window is None:
        if shape.window_layers is not None:
            raise refuse("window_layers", "goes with a window: give window too")
        return None
    local = shape.layers if shape.window_layers is None else shape.window_layers
    if local > shape.layers:
        raise refuse("window_layers", f"is more than the {shape.layers} layers")
    return Window(shape.window, "S" * local + "F" * (shape.layers - local), chunked=False)
