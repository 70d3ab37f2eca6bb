"""The KV cache: published logs and tables to the byte, and what must hold for any geometry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interview.calculators.formulas.kv_config import read_config
from interview.calculators.formulas.kv_own import own_fields
from interview.calculators.formulas.models import ROWS as MODEL_FILE
from interview.calculators.formulas.models import models
from interview.calculators.formulas.parameters import InputErrors
from interview.calculators.formulas.registry import CALCULATORS, run

KV = CALCULATORS["kv-cache"]
ROWS = json.loads((Path(__file__).parents[2] / "data" / "calculator_cases.json").read_text("utf-8"))
CASES = {row["id"]: row for row in ROWS}
MODEL_ROWS = json.loads(MODEL_FILE.read_text("utf-8"))


def results(**given: Any) -> dict[str, Any]:
    outcome = run(KV, {name: str(value) for name, value in given.items()})
    assert outcome.result, outcome.errors
    return outcome.result.results


def size(**given: Any) -> int:
    return int(results(**given)["bytes"])


def test_gpt3_at_4096_tokens() -> None:
    outcome = run(KV, {"model": "openai/gpt-3-175b", "tokens": "4096", "dtype": "fp16"})
    assert outcome.result and outcome.result.results["bytes"] == 19_327_352_832
    assert str(outcome.result.headline) == "19.327 GB (18.0 GiB)"
    eight = run(KV, {"layers": "96", "kv_heads": "8", "head_dim": "128", "tokens": "4096"})
    assert eight.result and str(eight.result.headline) == "1.611 GB (1.5 GiB)"
    assert size(model="openai/gpt-3-175b", kv_heads=8, tokens=4096) == 1_610_612_736


def test_llama31_8b_at_128k() -> None:
    case = CASES["kv-llama31-8b-128k"]
    got = results(model=case["input"]["model"], tokens=128000, dtype="fp16")
    assert got["bytes"] == case["expected"]["bytes"]
    assert got["bytes_per_token"] == case["expected"]["bytes_per_token"]
    assert got["bytes"] / 2**30 == pytest.approx(case["expected"]["GiB"], abs=0.005)


def test_vllm_blocks() -> None:
    case = CASES["kv-vllm-blocks-llama31-8b"]["expected"]
    base = {"model": "meta-llama/Meta-Llama-3.1-8B", "mode": "vllm", "dtype": "bf16"}
    first = results(**base, blocks=1952, tokens=20000)
    assert first["token_capacity"] == case["token_capacity"]
    assert first["block_bytes"] == case["block_bytes"]
    assert first["pool_bytes"] / 2**30 == case["pool_GiB"]
    assert round(first["max_concurrency"], 2) == case["max_concurrency"]["20000"]
    second = results(**base, blocks=case["second"]["num_blocks"], tokens=29000)
    assert second["token_capacity"] == case["second"]["token_capacity"]
    assert round(second["max_concurrency"], 2) == case["second"]["max_concurrency_29000"]


def test_deepseek_r1_latent() -> None:
    case = CASES["kv-mla-r1-q8_0-32k"]["expected"]
    got = results(model="deepseek-ai/DeepSeek-R1", tokens=32768, dtype="q8_0")
    assert got["bytes"] == case["bytes"]
    assert got["values_per_token_per_layer"] == case["values_per_token_per_layer"]
    assert size(model="deepseek-ai/DeepSeek-R1", tokens=4096, dtype="bf16") / 2**20 == 274.5


def test_llama_30b_in_two_dtypes() -> None:
    case = CASES["kv-llama30b-fp32-512"]["expected"]
    for dtype, key in (("fp32", "float32_MiB"), ("fp16", "float16_MiB")):
        assert size(model="huggyllama/llama-30b", tokens=512, dtype=dtype) / 2**20 == case[key]


def test_qwen3_reads_head_dim_from_the_config() -> None:
    case = CASES["kv-head-dim-qwen3-4b"]["expected"]
    outcome = run(KV, {"model": "Qwen/Qwen3-4B", "tokens": "4096", "dtype": "bf16"})
    assert outcome.result and outcome.result.results["bytes"] == case["bytes"]
    wrong = {row[0]: row[1] for row in outcome.result.every_table()[0].rows}
    assert wrong["head_dim is taken as hidden/heads = 80"] == case["wrong_if_hidden_over_heads_MiB"] * 2**20
    assert any("head_dim is 128" in w for w in outcome.result.warnings)


@pytest.mark.parametrize(
    ("given_inputs", "expected"),
    [
        # DeepSeek-R1 whose runtime stores full heads, 8192 tokens in f16: 39040 MiB.
        (
            {"model": "deepseek-ai/DeepSeek-R1", "tokens": 8192},
            ("keys and values of every head", 39040 * 2**20),
        ),
        # Gemma 3 27B at 131072 tokens without windows: 66.57 GB.
        (
            {"model": "google/gemma-3-27b-it", "tokens": 131072},
            ("every layer caches the full", 66_571_993_088),
        ),
    ],
)
def test_named_wrong_answers(given_inputs: dict[str, Any], expected: tuple[str, int]) -> None:
    outcome = run(KV, {k: str(v) for k, v in given_inputs.items()})
    assert outcome.result
    rows = {str(row[0]): row[1] for row in outcome.result.every_table()[0].rows}
    assert [v for k, v in rows.items() if k.startswith(expected[0])] == [expected[1]]


def test_windows_per_type_heads_and_hybrids() -> None:
    assert size(model="google/gemma-3-27b-it", tokens=131072, dtype="bf16") == 11_173_625_856
    assert results(model="google/gemma-4-31B-it", tokens=1)["bytes_per_token"] == 901_120
    assert results(model="google/gemma-4-31B-it", tokens=10**6)["bytes_per_token_beyond_window"] == 81_920
    qwen = results(model="Qwen/Qwen3.5-27B", tokens=1000)
    assert qwen["bytes"] == 16 * 4096 * 1000 + qwen["state_bytes_per_sequence"]
    assert qwen["state_bytes_per_sequence"] == 48 * (48 * 128 * 128 * 4 + (2 * 16 * 128 + 48 * 128) * 3 * 2)
    assert results(model="ai21labs/Jamba-v0.1", tokens=1)["bytes_per_token"] == 4 * 2 * 8 * 128 * 2
    assert results(model="meta-llama/Llama-4-Scout-17B-16E-Instruct", tokens=10**6)["bytes"] == (
        4096 * (12 * 10**6 + 36 * 8192)
    )


def test_vllm_gives_layers_with_smaller_vectors_more_tokens_a_page() -> None:
    # hf-mem pull 61: 24.54 GiB hold “26,800 tokens” of Gemma 4 31B, a block in each group for every 16 tokens (983 040 bytes).
    base = {"model": "google/gemma-4-31B-it", "mode": "vllm", "dtype": "bf16"}
    got = results(**base, tokens=16, memory_gib=24.54)
    assert got["token_capacity_in_older_logs"] == 26_800
    assert got["bytes_per_token_in_every_group"] == 983_040
    local = 50 * 16 * (-(-(1024 - 1 + 8192) // 16) + 1) * 16_384
    assert size(**base, tokens=100_000) == local + 10 * 100_000 * 8192
    # Without the hybrid manager each layer has pages of its own size.
    off = results(**base, tokens=16, no_hybrid="1")
    assert off["block_bytes"] == 901_120 * 16
    # With one KV head left a GPU, both kinds of page are alike.
    split = results(**base, tokens=16, tensor_parallel=8)
    assert split["block_bytes"] == 10 * 16 * 2048


@pytest.mark.parametrize(
    ("dtype", "per_layer"),
    [
        ("fp32", 8192),
        ("fp16", 4096),
        ("bf16", 4096),
        ("fp8", 2048),
        ("int8", 2048 + 2 * 8 * 4),
        ("q8_0", 2048 * 34 // 32),
        ("q4_0", 2048 * 18 // 32),
        ("nvfp4", 2 * 8 * (64 + 8)),
    ],
)
def test_each_dtype(dtype: str, per_layer: int) -> None:
    assert results(model="Llama 3.1 8B", tokens=1, dtype=dtype)["bytes_per_token"] == 32 * per_layer


def test_fp8_ds_mla_only_for_its_latent() -> None:
    assert results(model="deepseek-ai/DeepSeek-V3", tokens=1, dtype="fp8_ds_mla")["bytes"] == 61 * 656
    outcome = run(KV, {"model": "Llama 3.1 8B", "dtype": "fp8_ds_mla"})
    assert [e.name for e in outcome.errors] == ["dtype"]


def test_llama_cpp_pads_and_limits_windows() -> None:
    base = {"model": "google/gemma-3-27b-it", "dtype": "fp16", "mode": "llama.cpp"}
    layer = 8192
    assert size(**base, tokens=32768) == layer * (10 * 32768 + 52 * 1536)
    assert size(**base, tokens=32768, swa_full=1) == layer * 62 * 32768
    assert size(**base, tokens=1000) == layer * 62 * 1024
    assert size(**base, tokens=32768, sequences=4) == 4 * layer * (10 * 32768 + 52 * 1536)
    together = layer * (10 * 4 * 32768 + 52 * (4 * 1024 + 512))
    assert size(**base, tokens=32768, sequences=4, unified=1) == together


def test_vllm_pages_of_a_window() -> None:
    base = {"model": "google/gemma-3-27b-it", "dtype": "bf16", "mode": "vllm"}
    pages = -(-(1024 - 1 + 2048) // 16) + 1
    assert size(**base, tokens=32768, batched_tokens=2048) == 8192 * (10 * 32768 + 60 * 16 * pages)
    assert size(**base, tokens=32768, no_hybrid=1) == 8192 * 62 * 32768


def test_vllm_pool_of_a_model_with_windows() -> None:
    base = {"model": "google/gemma-3-27b-it", "dtype": "bf16", "mode": "vllm", "tokens": 131_072}
    pool = results(**base, blocks=10_000)
    assert pool["blocks_per_request"] == 8192 + 6 * 577 == 11_654
    assert pool["pool_bytes"] == 10_000 * 10 * 131_072
    assert pool["max_concurrency"] == pytest.approx(0.858, abs=5e-4)
    assert pool["token_capacity"] == 10_000 * 131_072 // 11_654
    assert results(**base, memory_gib=20)["blocks"] == 16_384
    off = results(**base, blocks=10_000, no_hybrid=1)
    assert (off["blocks_per_request"], off["pool_bytes"]) == (8192, 10_000 * 62 * 131_072)
    outcome = run(KV, {k: str(v) for k, v in base.items()})
    assert outcome.result and any("7 groups of 10, 8 of them padding" in w for w in outcome.result.warnings)


@pytest.mark.parametrize(("full", "size", "layers"), [(12, 12, 24), (17, 17, 34), (18, 12, 12 + 24)])
def test_vllm_group_size_is_the_least_count_unless_counts_are_close(
    full: int, size: int, layers: int
) -> None:
    own = {"layers": 12 + full, "kv_heads": 1, "head_dim": 64, "window": 128, "window_layers": 12}
    got = results(**own, mode="vllm", tokens=16, batched_tokens=1, blocks=100)
    assert got["block_bytes"] == 16 * size * 256
    per_kind = 12 // size if size == 12 else 1
    assert got["blocks_per_request"] == per_kind * 2 + (layers // size - per_kind)


@pytest.mark.parametrize(
    ("given_inputs", "block"),
    [
        # “Setting attention block size to N tokens” in vLLM's start-up logs.
        ({"model": "Qwen/Qwen3.5-27B", "dtype": "bf16"}, 784),
        ({"model": "Qwen/Qwen3.5-35B-A3B", "dtype": "bf16"}, 1056),
        ({"model": "Qwen/Qwen3.5-35B-A3B", "dtype": "fp8"}, 2096),
        ({"model": "Qwen/Qwen3.5-35B-A3B", "dtype": "bf16", "block": "2000"}, 2000),
        # Nemotron Nano 9B v2, state in 2 bytes: github.com/vllm-project/vllm/issues/24280.
        (
            {
                "layers": "4",
                "kv_heads": "8",
                "head_dim": "128",
                "state_layers": "27",
                "state_bytes": str(27 * 2 * (128 * 80 * 128 + 3 * (128 * 80 + 2 * 8 * 128))),
            },
            672,
        ),
    ],
)
def test_vllm_raises_the_block_until_a_page_holds_a_state(given_inputs: dict[str, str], block: int) -> None:
    got = results(**given_inputs, mode="vllm", tokens=1000)
    assert got["block_tokens"] == block
    assert got["bytes"] % got["block_bytes"] == 0


def test_vllm_pool_of_a_hybrid_as_its_log_says() -> None:
    # github.com/noonghunna/club-3090/issues/612: 5.98 GiB, 567,978 tokens, 4.33x at 131,072.
    base = {"model": "Qwen/Qwen3.5-35B-A3B", "mode": "vllm", "dtype": "fp8", "tokens": 131_072}
    pool = results(**base, memory_gib=5.98, mamba_cache_mode="align")
    assert (pool["blocks"], pool["blocks_per_request"]) == (299, 63 + 3 * 2)
    assert pool["token_capacity"] == 567_978
    assert pool["max_concurrency"] == pytest.approx(4.33, abs=0.005)
    assert results(**base, memory_gib=5.98)["blocks_per_request"] == 63 + 3
    outcome = run(KV, {**{k: str(v) for k, v in base.items()}, "no_hybrid": "1"})
    assert [e.name for e in outcome.errors] == ["no_hybrid"]


@pytest.mark.parametrize("gpus", [1, 2, 3, 8])
@pytest.mark.parametrize("model", ["Qwen/Qwen3.5-27B", "ai21labs/Jamba-v0.1", "google/gemma-4-31B-it"])
def test_the_fullest_gpu_of_a_divided_pool(model: str, gpus: int) -> None:
    outcome = run(KV, {"model": model, "mode": "vllm", "tokens": "50000", "tensor_parallel": str(gpus)})
    assert outcome.result
    steps = {s.name: s.value for s in outcome.result.steps}
    assert steps.get("gpu_bytes", steps["total_bytes"]) == outcome.result.results["bytes_per_gpu"]


def test_llama_cpp_keeps_a_state_in_fp32() -> None:
    # llama_memory_recurrent: size = 149.62 MiB, R (f32) 5.62 + S (f32) 144.00, beside 512 MiB of KV at 8192.
    got = results(model="Qwen/Qwen3.5-27B", mode="llama.cpp", tokens=8192)
    assert got["state_bytes_per_sequence"] == 149.625 * 2**20
    assert got["bytes"] == (512 + 149.625) * 2**20


def test_tensor_parallel_never_below_one_head_and_copies_a_latent() -> None:
    llama = {"model": "Llama 3.1 8B", "tokens": 1000}
    whole = size(**llama)
    assert results(**llama, tensor_parallel=4)["bytes_per_gpu"] == whole // 4
    assert results(**llama, tensor_parallel=16)["bytes_per_gpu"] == whole // 8
    latent = results(model="deepseek-ai/DeepSeek-R1", tokens=1000, tensor_parallel=8)
    assert latent["bytes_per_gpu"] == latent["bytes"]


def test_a_shared_prefix_is_stored_once() -> None:
    base = {"model": "Llama 3.1 8B", "tokens": 5000, "sequences": 10}
    assert size(**base, shared_prefix=3000) == 131_072 * (3000 + 10 * 2000)
    assert size(**base, shared_prefix=3005, mode="vllm") == 131_072 * (2992 + 10 * (5008 - 2992))


def test_tokens_that_fit_is_the_last_that_fits() -> None:
    base = {"model": "google/gemma-3-27b-it", "memory_gib": 10}
    fit = results(**base)["tokens_that_fit"]
    assert size(**base, tokens=fit) <= 10 * 2**30 < size(**base, tokens=fit + 1)
    assert results(model="openai/gpt-3-175b", tokens=4096, memory_gib=80)["sequences_that_fit"] == 4


@pytest.mark.parametrize("model", list(models()))
def test_every_model_agrees_with_its_own_row(model: str) -> None:
    values = next(r["kv_values_per_token_no_window"] for r in MODEL_ROWS if r["id"] == model)
    got = results(model=model, tokens=1, dtype="fp16")
    assert got["bytes_per_token"] == 2 * values


@pytest.mark.parametrize("model", list(models()))
def test_every_model_typed_as_own_geometry_gives_the_same_bytes(model: str) -> None:
    fields = own_fields(models()[model])
    for tokens in (100, 50_000):
        assert size(**fields, tokens=tokens) == size(model=model, tokens=tokens)


@pytest.mark.parametrize(
    ("given_inputs", "field"),
    [
        ({"model": "own"}, "layers"),
        ({"layers": "2"}, "kv_heads"),
        ({"model": "Llama 3.1 8B", "layers": "3"}, "layers"),
        ({"model": "deepseek-ai/DeepSeek-R1", "kv_heads": "8"}, "kv_heads"),
        ({"layers": "2", "kv_lora_rank": "512", "head_dim": "8"}, "head_dim"),
        ({"layers": "2", "kv_heads": "1", "head_dim": "8", "window_layers": "1"}, "window_layers"),
        (
            {"layers": "2", "kv_heads": "1", "head_dim": "8", "window": "9", "window_layers": "3"},
            "window_layers",
        ),
        ({"tokens": "10", "shared_prefix": "11"}, "shared_prefix"),
    ],
)
def test_contradictions_are_named(given_inputs: dict[str, str], field: str) -> None:
    assert field in [e.name for e in run(KV, given_inputs).errors]


TOKENS = st.integers(1, 10**7)
MODEL = st.sampled_from(sorted(models()))
MODE = st.sampled_from(["needed", "llama.cpp", "vllm"])
COUNT = st.integers(1, 64)


@given(MODEL, MODE, TOKENS, st.integers(0, 10**5), COUNT)
def test_more_tokens_never_take_less(model: str, mode: str, tokens: int, more: int, n: int) -> None:
    base = {"model": model, "mode": mode, "sequences": n}
    assert size(**base, tokens=tokens) <= size(**base, tokens=tokens + more)


@given(MODEL, MODE, TOKENS, COUNT)
def test_bytes_are_linear_in_separate_sequences(model: str, mode: str, tokens: int, n: int) -> None:
    base = {"model": model, "mode": mode, "tokens": tokens}
    assert size(**base, sequences=n) == n * size(**base)


@given(MODEL, TOKENS, st.sampled_from(["llama.cpp", "vllm"]))
def test_no_runtime_stores_less_than_needed(model: str, tokens: int, mode: str) -> None:
    assert size(model=model, tokens=tokens, mode=mode) >= size(model=model, tokens=tokens)


@given(st.integers(1, 128), st.integers(1, 64), st.integers(1, 256), TOKENS, st.integers(1, 16))
def test_gqa_never_exceeds_mha(layers: int, kv: int, dim: int, tokens: int, share: int) -> None:
    base = {"layers": layers, "head_dim": dim, "tokens": tokens}
    grouped, full = size(**base, kv_heads=kv), size(**base, kv_heads=kv * share)
    assert full == share * grouped
    assert size(**base, kv_heads=kv, window=4096) <= grouped


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 256), TOKENS)
def test_plain_caches_are_exactly_linear(layers: int, kv: int, dim: int, tokens: int) -> None:
    expected = 2 * layers * kv * dim * tokens * 2
    assert size(layers=layers, kv_heads=kv, head_dim=dim, tokens=tokens) == expected


LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
}


def test_config_json_is_read() -> None:
    reading = read_config(json.dumps(LLAMA))
    assert size(**reading.fields, tokens=128000) == 16_777_216_000
    assert "hidden / heads = 128" in reading.noticed[0]


def test_config_traps() -> None:
    off = read_config(
        json.dumps(LLAMA | {"sliding_window": 4096, "use_sliding_window": False, "head_dim": 64})
    )
    assert "window" not in off.fields and off.fields["head_dim"] == "64"
    assert any("use_sliding_window is false" in n for n in off.noticed)
    types = ["sliding_attention", "full_attention"] * 16
    mixed = read_config(json.dumps(LLAMA | {"sliding_window": 128, "layer_types": types}))
    assert mixed.fields["window_layers"] == "16"
    nested = read_config(json.dumps({"vision_config": {}, "text_config": LLAMA}))
    assert nested.fields["layers"] == "32"
    mla = read_config(json.dumps(LLAMA | {"kv_lora_rank": 512, "qk_rope_head_dim": 64}))
    assert results(**mla.fields, tokens=1)["values_per_token_per_layer"] == 576
    gemma = read_config(json.dumps(LLAMA | {"model_type": "gemma3_text", "sliding_window": 1024}))
    assert gemma.fields["window_layers"] == "27"


SCOUT: dict[str, Any] = LLAMA | {"num_attention_heads": 40, "num_hidden_layers": 48, "head_dim": 128}
SCOUT |= {"attention_chunk_size": 8192, "no_rope_layers": []}
CONV = ["conv"] * 10 + ["full_attention"] * 6
SHARED: dict[str, Any] = {"num_kv_shared_layers": 10, "sliding_window": 512}
SHARED |= {"layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 6}
GRIFFIN = {"block_types": ["recurrent", "recurrent", "attention"], "attention_window_size": 2048}
QWEN2 = {"use_sliding_window": True, "max_window_layers": 21, "sliding_window": 4096}
KIMI: dict[str, Any] = {"kv_lora_rank": 512, "qk_rope_head_dim": 64}
KIMI |= {"linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27]}}


@pytest.mark.parametrize(
    ("layers", "more", "cached", "windowed"),
    [
        (48, SCOUT, 48, 36),
        (4, SCOUT | {"no_rope_layers": [1, 1, 1, 0]}, 4, 3),
        (16, {"layer_types": CONV}, 6, None),
        (8, {"attn_type_list": [0] * 7 + [1]}, 1, None),
        (32, {"attn_layer_indices": [9, 18, 27]}, 3, None),
        (26, GRIFFIN, 8, 8),
        (27, KIMI, 7, None),
        (28, QWEN2, 28, 7),
        (28, QWEN2 | {"use_sliding_window": False}, 28, None),
        (28, {"max_window_layers": 21, "sliding_window": 4096}, 28, None),
        (30, SHARED, 20, 16),
        (32, {"attn_layer_period": 8, "attn_layer_offset": 0}, 4, None),
        (64, {"sliding_window_pattern": "LLLG", "sliding_window": 4096}, 64, 48),
    ],
)
def test_which_layers_of_a_config_are_cached(
    layers: int, more: dict[str, Any], cached: int, windowed: int | None
) -> None:
    reading = read_config(json.dumps(LLAMA | more | {"num_hidden_layers": layers}))
    assert reading.fields["layers"] == str(cached)
    assert reading.fields.get("window_layers") == (str(windowed) if windowed else None)
    assert not any("not read" in n or "not known" in n for n in reading.noticed)


def test_llama_4_scout_from_its_config_agrees_with_its_row() -> None:
    fields = read_config(json.dumps({"text_config": SCOUT})).fields
    row = size(model="meta-llama/Llama-4-Scout-17B-16E-Instruct", tokens=128_000)
    assert size(**fields, tokens=128_000) == row == 7_499_415_552


def test_what_a_config_says_unread_is_noticed() -> None:
    odd = {"layer_types": ["full_attention", "warped_attention"], "num_hidden_layers": 2}
    odd |= {
        "swa_window": 7,
        "shared_kv": True,
        "skip_layers": [1],
        "n_shared_experts": 2,
        "mlp_only_layers": [1],
    }
    said = " ".join(read_config(json.dumps(LLAMA | odd)).noticed)
    for name in ("“warped_attention” is not known: 1", "swa_window is", "shared_kv is", "skip_layers is"):
        assert name in said
    assert "expert" not in said and "mlp_only" not in said


def test_a_config_of_too_many_layers_is_refused_with_the_limit() -> None:
    with pytest.raises(InputErrors) as caught:
        read_config(json.dumps(LLAMA | {"num_hidden_layers": 10**9}))
    assert "100,000" in caught.value.errors[0].message.replace("\u202f", ",").replace("\u00a0", ",")


@pytest.mark.parametrize(
    "bad", ["", "[]", "{", "null", "{}", '{"num_hidden_layers": "x"}', "[" * 100_000, "\x00", "\ud800"]
)
def test_bad_configs_are_refused_by_name(bad: str) -> None:
    with pytest.raises(InputErrors) as caught:
        read_config(bad)
    assert caught.value.errors[0].name == "config"
