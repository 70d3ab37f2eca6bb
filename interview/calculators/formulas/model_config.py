"""A pasted `config.json` as the shape of a model: for the calculators that count weights and FLOPs.

Which families have biases, norms on queries and keys or four norms a layer is not in a config but in the models' own
code in transformers.
"""

from __future__ import annotations

from typing import Any

from interview.calculators.formulas.kv_config import (
    ConfigReading,
    heads_of,
    layer_count,
    layers_of,
    number,
    optional,
    parsed,
    texts,
)
from interview.calculators.formulas.kv_layer_kinds import layer_kinds
from interview.calculators.formulas.parameters import OWN_MODEL, parameters, refuse

# Two matrices, LayerNorm with a bias; everything else that is common has three and RMSNorm.
PLAIN_MLP = frozenset(
    [
        "gpt2",
        "gpt_neo",
        "gpt_neox",
        "gptj",
        "gpt_bigcode",
        "opt",
        "bloom",
        "falcon",
        "phi",
        "mpt",
        "starcoder2",
    ]
)
QKV_BIAS = frozenset(["qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl"])
QK_NORM = dict.fromkeys(("qwen3", "qwen3_moe", "gemma3", "gemma3_text"), "head") | dict.fromkeys(
    ("olmo2", "olmoe"), "full"
)
FOUR_NORMS = frozenset(["gemma2", "gemma3", "gemma3_text"])
TIED = frozenset(
    ["gpt2", "gemma", "gemma2", "gemma3", "gemma3_text", "cohere", "cohere2", "bloom", "falcon", "opt"]
)
BESIDE_EXPERTS = (
    "n_shared_experts",
    "num_shared_experts",
    "shared_expert_intermediate_size",
    "first_k_dense_replace",
    "mlp_only_layers",
)


def shape_reader(inputs: type) -> Any:
    """A function that reads a config into the parameters that `inputs` has."""

    def read(text: str) -> ConfigReading:
        """Parameters for `model=own`. Raises InputErrors on `config`."""
        known = {p.name for p in parameters(inputs)}
        config = parsed(text)
        noticed: list[str] = []
        found = _shape(config, noticed)
        kept = {name: value for name, value in found.items() if name in known}
        return ConfigReading({"model": OWN_MODEL, **texts(kept)}, tuple(noticed))

    return read


def _shape(config: dict[str, Any], noticed: list[str]) -> dict[str, int | str | None]:
    if config.get("kv_lora_rank"):
        raise refuse("config", "is MLA: its weights are counted only for the models of the list")
    layers = layer_count(config)
    if "none" in layer_kinds(config, layers, []):
        raise refuse(
            "config", "has layers without attention: these are counted only for the models of the list"
        )
    heads = number(config, "num_attention_heads", "n_head", "n_heads")
    hidden = number(config, "hidden_size", "n_embd", "d_model")
    found: dict[str, int | str | None] = {"layers": layers, "hidden": hidden, "heads": heads}
    attention = heads_of(config, heads, hidden, noticed)
    if attention.get("full_head_dim"):
        noticed.append(
            "Full layers have heads of their own here; every layer is counted with the others’ heads."
        )
    found |= {name: attention[name] for name in ("kv_heads", "head_dim")}
    limited = layers_of(config, layers, noticed)
    found |= {name: limited.get(name) for name in ("window", "window_layers")}
    return found | _weights(config, noticed)


def _weights(config: dict[str, Any], noticed: list[str]) -> dict[str, int | str | None]:
    kind = str(config.get("model_type", ""))
    found: dict[str, int | str | None] = {"vocabulary": optional(config, "vocab_size")}
    found["intermediate"] = optional(config, "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size")
    plain = kind in PLAIN_MLP
    found["mlp"] = None if plain else "gated"
    if plain:
        noticed.append(
            "Biases, LayerNorm’s second vector and learned positions of this family are not counted."
        )
    if config.get("attention_bias") or config.get("mlp_bias"):
        noticed.append("Only biases of q, k and v are counted.")
    tied = config.get("tie_word_embeddings", kind in TIED)
    found["tied"] = 1 if tied else None
    found["qkv_bias"] = 1 if kind in QKV_BIAS or config.get("attention_bias") else None
    found["qk_norm"] = QK_NORM.get(kind)
    found["norms"] = 4 if kind in FOUR_NORMS else None
    return found | _experts(config, noticed)


def _experts(config: dict[str, Any], noticed: list[str]) -> dict[str, int | str | None]:
    experts = optional(config, "num_local_experts", "num_experts", "n_routed_experts")
    if experts is None:
        return {}
    found: dict[str, int | str | None] = {"experts": experts}
    found["active_experts"] = number(config, "num_experts_per_tok", "num_experts_per_token")
    width = optional(config, "moe_intermediate_size")
    if width:
        found["intermediate"] = width
    noticed += [
        f"{name} is not counted: every layer is taken as routed experts alone."
        for name in BESIDE_EXPERTS
        if config.get(name)
    ]
    return found
