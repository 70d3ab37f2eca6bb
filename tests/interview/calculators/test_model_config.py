"""A model typed or pasted counts as its row in the list does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from interview.calculators.formulas.models import Geometry, models
from interview.calculators.formulas.parameters import InputErrors
from interview.calculators.formulas.registry import CALCULATORS, run
from interview.calculators.formulas.weights import total

ATTENTION, PARAMETERS = CALCULATORS["attention"], CALCULATORS["parameters"]
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
QWEN3 = LLAMA | {"model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36, "head_dim": 128}
QWEN3 |= {"intermediate_size": 9728, "vocab_size": 151936, "tie_word_embeddings": True}
QWEN2 = LLAMA | {
    "model_type": "qwen2",
    "hidden_size": 8192,
    "num_attention_heads": 64,
    "num_hidden_layers": 80,
}
QWEN2 |= {
    "intermediate_size": 29568,
    "vocab_size": 152064,
    "sliding_window": 131072,
    "use_sliding_window": False,
}
MIXTRAL = LLAMA | {
    "model_type": "mixtral",
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}
GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 5376,
    "num_attention_heads": 32,
    "num_key_value_heads": 16,
}
GEMMA |= {"head_dim": 128, "num_hidden_layers": 62, "intermediate_size": 21504, "sliding_window": 1024}
GEMMA |= {"vocab_size": 262144}
CONFIGS: dict[str, dict[str, Any]] = {
    "meta-llama/Meta-Llama-3-8B": LLAMA,
    "Qwen/Qwen3-4B": QWEN3,
    "Qwen/Qwen2.5-72B": QWEN2,
    "mistralai/Mixtral-8x7B-v0.1": MIXTRAL,
    "google/gemma-3-27b-it": {"text_config": GEMMA},
}


def plain(model: Geometry) -> bool:
    """Of blocks that an own geometry can describe: gains without biases, experts alone where there are experts."""
    special = (
        model.mla,
        model.state,
        model.global_attention,
        model.pattern,
        model.gated_q,
        model.single_mixer,
    )
    moe = model.moe
    beside = moe and (
        moe.n_shared
        or moe.first_dense_layers
        or moe.layer_step != 1
        or moe.parallel_dense
        or moe.router_bias
        or moe.expert_bias
    )
    return not any(special) and not beside and model.block.norm == "rms"


def typed(model: Geometry) -> dict[str, Any]:
    """The model as one would type it."""
    moe, block = model.moe, model.block
    shape: dict[str, Any] = {"model": "own", "layers": model.n_layers, "hidden": model.hidden_size}
    shape |= {"heads": model.n_heads, "kv_heads": model.n_kv_heads, "head_dim": model.head_dim}
    shape |= {"vocabulary": model.vocab_size, "mlp": block.mlp}
    shape["intermediate"] = moe.expert_intermediate if moe else model.intermediate_size
    return shape | ({"experts": moe.n_experts, "active_experts": moe.n_active} if moe else {})


def computed(calculator: Any, given: dict[str, Any]) -> dict[str, Any]:
    outcome = run(calculator, {name: str(value) for name, value in given.items()})
    assert outcome.result, outcome.errors
    return outcome.result.results


PLAIN = [m for m in models().values() if plain(m)]


def test_most_models_can_be_typed() -> None:
    assert len(PLAIN) > 70


@pytest.mark.parametrize("model", PLAIN, ids=lambda m: m.id)
def test_a_typed_model_counts_as_the_one_in_the_list(model: Geometry) -> None:
    block, shape = model.block, typed(model)
    weights = shape | {"tied": int(model.tie_word_embeddings), "norms": block.norms_per_layer}
    weights |= {"qkv_bias": int(block.qkv_bias), "qk_norm": block.qk_norm or "none"}
    got = computed(PARAMETERS, weights)
    assert got["parameters"] == total(model)
    assert got == computed(PARAMETERS, {"model": model.id})
    if model.window and not model.window.chunked:
        shape |= {"window": model.window.size, "window_layers": model.window.pattern.count("S")}
    request = {"tokens": 5000, "mask": "causal"}
    own, listed = computed(ATTENTION, shape | request), computed(ATTENTION, {"model": model.id, **request})
    assert own["flops"] == listed["flops"] and own["decode_step_flops"] == listed["decode_step_flops"]


@pytest.mark.parametrize("model", CONFIGS)
def test_a_pasted_config_counts_as_the_model_in_the_list(model: str) -> None:
    text = json.dumps(CONFIGS[model])
    assert PARAMETERS.from_config and ATTENTION.from_config
    reading = PARAMETERS.from_config(text)
    assert computed(PARAMETERS, reading.fields)["parameters"] == total(models()[model])
    pasted = ATTENTION.from_config(text).fields | {"tokens": "3000", "mask": "causal"}
    listed = computed(ATTENTION, {"model": model, "tokens": 3000, "mask": "causal"})
    assert computed(ATTENTION, pasted)["flops"] == listed["flops"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"kv_lora_rank": 512}, "MLA"),
        ({"layer_types": ["mamba", "attention"] * 16}, "without attention"),
        ({"num_hidden_layers": 10**9}, "layers"),
        ({"hidden_size": None}, "hidden_size"),
        ({"num_local_experts": 8}, "num_experts_per_tok"),
    ],
)
def test_a_config_that_cannot_be_counted_is_refused_with_the_reason(more: dict[str, Any], said: str) -> None:
    assert PARAMETERS.from_config
    with pytest.raises(InputErrors) as caught:
        PARAMETERS.from_config(json.dumps(LLAMA | more))
    assert caught.value.errors[0].name == "config" and said in caught.value.errors[0].message


def test_what_a_config_holds_beside_what_is_counted_is_noticed() -> None:
    assert PARAMETERS.from_config
    shared = MIXTRAL | {"n_shared_experts": 1, "moe_intermediate_size": 100}
    reading = PARAMETERS.from_config(json.dumps(shared))
    assert any("n_shared_experts is not counted" in n for n in reading.noticed)
    assert reading.fields["intermediate"] == "100"
    old = PARAMETERS.from_config(json.dumps(LLAMA | {"model_type": "gpt_neox"}))
    assert any("learned positions" in n for n in old.noticed) and "mlp" not in old.fields


@pytest.mark.django_db
@pytest.mark.parametrize("slug", ["attention", "parameters", "kv-cache"])
def test_the_pages_take_a_config(client: Client, slug: str) -> None:
    assert f"/calculators/{slug}/config/" in client.get(f"/calculators/{slug}/").content.decode()
    answer = client.post(f"/calculators/{slug}/config/", {"config": json.dumps(LLAMA)})
    page = answer.content.decode()
    assert answer.status_code == 200 and "model=own&amp;layers=32" in page and "hidden / heads = 128" in page
    refused = client.post(f"/calculators/{slug}/config/", {"config": '{"a": 1}'})
    assert refused.status_code == 422 and "{&quot;a&quot;: 1}" in refused.content.decode()
    assert client.post("/calculators/loss/config/", {"config": "{}"}).status_code == 404


HYBRIDS: dict[str, dict[str, Any]] = {
    "Qwen/Qwen3.5-27B": {
        "hidden_size": 5120,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "num_hidden_layers": 64,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
    },
    "ai21labs/Jamba-v0.1": {
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "num_hidden_layers": 32,
        "attn_layer_period": 8,
        "attn_layer_offset": 4,
        "mamba_d_state": 16,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
    },
    "nvidia/Nemotron-H-56B-Base-8K": {
        "hidden_size": 8192,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "num_hidden_layers": 118,
        "hybrid_override_pattern": "M-" * 49 + "M*" * 5 + "*-" * 5,
        "mamba_num_heads": 256,
        "mamba_head_dim": 64,
        "ssm_state_size": 256,
        "n_groups": 8,
        "conv_kernel": 4,
    },
}


@pytest.mark.parametrize("mode", ["needed", "vllm"])
@pytest.mark.parametrize("model", HYBRIDS)
def test_a_pasted_hybrid_keeps_the_state_of_its_row(model: str, mode: str) -> None:
    kv = CALCULATORS["kv-cache"]
    assert kv.from_config
    reading = kv.from_config(json.dumps(HYBRIDS[model]))
    said = {"tokens": "4096", "mode": mode}
    ours, row = run(kv, {**reading.fields, **said}), run(kv, {"model": model, **said})
    assert ours.result and row.result
    names = ("bytes", "state_bytes_per_sequence", "bytes_per_token")
    assert [ours.result.results[n] for n in names] == [row.result.results[n] for n in names]
