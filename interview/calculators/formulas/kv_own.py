"""The geometry the inputs name: a registered model, the same with other heads, or one typed in full."""

from __future__ import annotations

from dataclasses import replace

from interview.calculators.formulas.kv_geometry import KvGeometry, LayerGroup, StateSize, of_model
from interview.calculators.formulas.kv_inputs import KvCacheInputs
from interview.calculators.formulas.models import Geometry, Mla, models
from interview.calculators.formulas.parameters import OWN_MODEL, FieldError, InputErrors, refuse

GEOMETRY = ("layers", "kv_heads", "head_dim", "kv_lora_rank")
OWN_ONLY = "layers window window_layers full_kv_heads full_head_dim kv_lora_rank rope_dim state_bytes state_layers context"


def prepare(given: dict[str, str]) -> dict[str, str]:
    """A geometry without a model means `model=own`."""
    if not given.get("model") and any(given.get(name) for name in GEOMETRY):
        return {**given, "model": OWN_MODEL}
    return given


def geometry_of(inputs: KvCacheInputs) -> KvGeometry:
    """The geometry to count. Raises InputErrors naming fields that are missing or do not go together."""
    if inputs.model == OWN_MODEL:
        return _latent(inputs) if inputs.kv_lora_rank else _typed(inputs)
    wrong = [name for name in OWN_ONLY.split() if getattr(inputs, name) is not None]
    if wrong:
        message = f"describes an own geometry: empty it, or choose model={OWN_MODEL}"
        raise InputErrors(*(FieldError(name, message) for name in wrong))
    return _overridden(of_model(models()[inputs.model]), inputs)


def _overridden(geometry: KvGeometry, inputs: KvCacheInputs) -> KvGeometry:
    if geometry.mla and (inputs.kv_heads or inputs.head_dim):
        name = "kv_heads" if inputs.kv_heads else "head_dim"
        raise refuse(name, f"{geometry.name} caches one MLA latent, not heads: leave this empty")
    groups = geometry.groups
    if inputs.kv_heads:
        groups = tuple(replace(g, heads=inputs.kv_heads) for g in groups)
    if inputs.head_dim:
        groups = tuple(replace(g, k_dim=inputs.head_dim, v_dim=inputs.head_dim) for g in groups)
    heads, hidden = inputs.heads or geometry.heads, inputs.hidden or geometry.hidden
    return replace(geometry, groups=groups, heads=heads, hidden=hidden)


def _needs(inputs: KvCacheInputs, names: tuple[str, ...]) -> None:
    missing = [name for name in names if not getattr(inputs, name)]
    if missing:
        raise InputErrors(*(FieldError(name, "is needed for an own geometry") for name in missing))


def _latent(inputs: KvCacheInputs) -> KvGeometry:
    _needs(inputs, ("layers",))
    for name in ("kv_heads", "head_dim", "window", "window_layers", "full_kv_heads", "full_head_dim"):
        if getattr(inputs, name) is not None:
            raise refuse(name, "does not go with an MLA latent: leave this empty")
    rope = inputs.rope_dim if inputs.rope_dim is not None else 64
    assert inputs.layers is not None and inputs.kv_lora_rank is not None
    group = LayerGroup("latent", inputs.layers, 1, inputs.kv_lora_rank + rope, 0, latent=True)
    mla = Mla(None, inputs.kv_lora_rank, rope, 128, 128)
    return replace(_named(inputs, (group,)), mla=mla)


def _typed(inputs: KvCacheInputs) -> KvGeometry:
    _needs(inputs, ("layers", "kv_heads", "head_dim"))
    if inputs.rope_dim is not None:
        raise refuse("rope_dim", "goes with an MLA latent: give kv_lora_rank too")
    assert inputs.layers and inputs.kv_heads and inputs.head_dim
    plain = LayerGroup("full", inputs.layers, inputs.kv_heads, inputs.head_dim, inputs.head_dim)
    if inputs.window is None:
        _refuse_without_window(inputs)
        return _named(inputs, (plain,))
    return _named(inputs, _with_window(inputs, plain))


def _refuse_without_window(inputs: KvCacheInputs) -> None:
    for name in ("window_layers", "full_kv_heads", "full_head_dim"):
        if getattr(inputs, name) is not None:
            raise refuse(name, "goes with a window: give window too")


def _with_window(inputs: KvCacheInputs, plain: LayerGroup) -> tuple[LayerGroup, ...]:
    local = plain.layers if inputs.window_layers is None else inputs.window_layers
    if local > plain.layers:
        raise refuse("window_layers", f"is more than the {plain.layers} layers")
    sliding = replace(plain, label="sliding", layers=local, window=inputs.window)
    width = inputs.full_head_dim or plain.k_dim
    heads = inputs.full_kv_heads or plain.heads
    full = replace(plain, layers=plain.layers - local, heads=heads, k_dim=width, v_dim=width)
    return tuple(g for g in (sliding, full) if g.layers)


def _named(inputs: KvCacheInputs, groups: tuple[LayerGroup, ...]) -> KvGeometry:
    if inputs.state_layers is not None and not inputs.state_bytes:
        raise refuse("state_layers", "goes with a constant state: give state_bytes too")
    state = (
        StateSize(inputs.state_layers or 1, typed_bytes=inputs.state_bytes)
        if inputs.state_bytes
        else StateSize()
    )
    return KvGeometry(
        name="own geometry",
        groups=groups,
        state=state,
        layers_in_all=sum(g.layers for g in groups) + (inputs.state_layers or 0),
        heads=inputs.heads,
        hidden=inputs.hidden,
        context=inputs.context,
    )


def own_fields(model: Geometry) -> dict[str, str]:
    """A registered model as own-geometry parameters: the start for changing any part of it."""
    geometry = of_model(model)
    limited = [g for g in geometry.groups if g.window]
    full = [g for g in geometry.groups if not g.window]
    main = (limited or full)[0]
    fields: dict[str, int | None] = {"layers": sum(g.layers for g in geometry.groups)}
    if geometry.mla:
        fields |= {"kv_lora_rank": geometry.mla.kv_lora_rank, "rope_dim": geometry.mla.qk_rope_head_dim}
    else:
        fields |= {"kv_heads": main.heads, "head_dim": main.k_dim}
    if limited:
        fields |= {"window": main.window, "window_layers": main.layers}
    if limited and full and full[0].values() != main.values():
        fields |= {"full_kv_heads": full[0].heads, "full_head_dim": full[0].k_dim}
    fields |= {"heads": model.n_heads, "hidden": model.hidden_size, "context": model.max_position}
    state = geometry.state.layers * geometry.state.layer_bytes()
    fields |= {"state_bytes": state or None, "state_layers": geometry.state.layers or None}
    return {"model": OWN_MODEL, **{k: str(v) for k, v in fields.items() if v is not None}}
