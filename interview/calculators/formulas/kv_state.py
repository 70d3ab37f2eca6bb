"""What a pasted config.json says about layers with a constant state: how many, and how many values each keeps.

Sources: transformers' modelling code of Qwen3-Next and Qwen3.5 (gated delta net), Mamba-2 (Nemotron-H, Bamba, Granite 4,
Falcon-H1) and Mamba-1 (Jamba).
"""

from __future__ import annotations

from typing import Any

from interview.calculators.formulas.kv_layer_kinds import layer_kinds, whole

# A layer of this kind keeps a state; `hybrid` has attention beside it in the same layer (Falcon-H1).
STATEFUL = frozenset(["linear", "linear_attention", "mamba", "mamba2", "hybrid"])


def state_fields(config: dict[str, Any], layers: int, noticed: list[str]) -> dict[str, int | None]:
    """`state_layers` and `state_bytes` where the config describes the state; nothing where it doesn't."""
    values = _delta_net(config) or _mamba2(config) or _mamba1(config)
    count = _layers(config, layers)
    if values is None or not count:
        return {}
    recurrent, conv = values
    noticed.append(
        f"{count} layers keep a constant state of {recurrent} recurrent values (fp32) and {conv} inputs of a convolution."
    )
    return {"state_layers": count, "state_bytes": count * (4 * recurrent + 2 * conv)}


def _layers(config: dict[str, Any], layers: int) -> int:
    pattern = config.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return pattern.count("M")
    for field in ("layer_types", "layers_block_type"):
        if isinstance(config.get(field), list):
            return sum(str(kind) in STATEFUL for kind in config[field])
    return layer_kinds(config, layers, []).count("none")


def _numbers(config: dict[str, Any], *names: tuple[str, ...]) -> list[int] | None:
    """One number for each tuple of names it goes by; None where one is missing."""
    found = [next((n for n in map(whole, map(config.get, each)) if n is not None), None) for each in names]
    return [n for n in found if n is not None] if None not in found else None


def _delta_net(config: dict[str, Any]) -> tuple[int, int] | None:
    got = _numbers(
        config,
        ("linear_num_key_heads",),
        ("linear_num_value_heads",),
        ("linear_key_head_dim",),
        ("linear_value_head_dim",),
        ("linear_conv_kernel_dim",),
    )
    if got is None:
        return None
    k_heads, v_heads, k_dim, v_dim, kernel = got
    return v_heads * k_dim * v_dim, (2 * k_heads * k_dim + v_heads * v_dim) * (kernel - 1)


def _mamba2(config: dict[str, Any]) -> tuple[int, int] | None:
    heads = _numbers(config, ("mamba_num_heads", "mamba_n_heads"))
    rest = _numbers(
        config,
        ("ssm_state_size", "mamba_d_state"),
        ("n_groups", "mamba_n_groups"),
        ("conv_kernel", "mamba_d_conv"),
    )
    width = _numbers(config, ("mamba_head_dim", "mamba_d_head"))
    if heads is None or rest is None:
        return None
    state, groups, kernel = rest
    inner = heads[0] * width[0] if width else _expanded(config)
    return (inner * state, (inner + 2 * groups * state) * (kernel - 1)) if inner else None


def _mamba1(config: dict[str, Any]) -> tuple[int, int] | None:
    got, inner = _numbers(config, ("mamba_d_state",), ("mamba_d_conv",)), _expanded(config)
    if got is None or not inner:
        return None
    return inner * got[0], inner * (got[1] - 1)


def _expanded(config: dict[str, Any]) -> int:
    got = _numbers(config, ("mamba_expand",), ("hidden_size",))
    return got[0] * got[1] if got else 0
