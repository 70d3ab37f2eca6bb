"""Attention: the counted case to the FLOP, and how cost grows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interview.calculators.formulas.attention_flops import Scored
from interview.calculators.formulas.models import models
from interview.calculators.formulas.registry import CALCULATORS, run

ROWS = json.loads((Path(__file__).parents[2] / "data" / "calculator_cases.json").read_text("utf-8"))
CASE = next(row for row in ROWS if row["id"] == "attn-prefill-llama2-7b")
MODEL = st.sampled_from(sorted(models()))


def results(**given_inputs: Any) -> dict[str, Any]:
    outcome = run(CALCULATORS["attention"], {k: str(v) for k, v in given_inputs.items()})
    assert outcome.result, outcome.errors
    return outcome.result.results


def test_llama2_7b_at_2048() -> None:
    got = results(model=CASE["input"]["model"], tokens=2048)
    names = {"total_flops_full": "flops", "two_P_T_rule": "two_p_t_flops"}
    for name, value in CASE["expected"].items():
        assert got[names.get(name, name)] == value, name


@given(st.integers(1, 300), st.integers(1, 300), st.booleans())
def test_pairs_are_what_counting_them_gives(tokens: int, window: int, chunked: bool) -> None:
    part = Scored(1, 1, 2, window, chunked)

    def start(i: int) -> int:
        return i // window * window if chunked else max(0, i - window + 1)

    counted = sum(i - start(i) + 1 for i in range(tokens))
    assert part.pairs(tokens, "causal") == counted
    assert part.row(tokens) == part.pairs(tokens + 1, "causal") - counted


@given(MODEL, st.integers(1, 10**6))
def test_a_step_with_the_cache_is_what_one_more_token_adds_to_a_prompt(model: str, tokens: int) -> None:
    shorter, longer = (results(model=model, tokens=n, mask="causal") for n in (tokens, tokens + 1))
    assert shorter["decode_step_flops"] == longer["flops"] - shorter["flops"]
    assert shorter["step_flops_without_cache"] == longer["flops"]


@given(MODEL, st.integers(1, 10**6), st.integers(0, 10**4))
def test_cost_grows_with_tokens_and_causal_never_exceeds_full(model: str, tokens: int, more: int) -> None:
    full = results(model=model, tokens=tokens)
    assert results(model=model, tokens=tokens + more)["flops"] >= full["flops"]
    assert full["attention_flops_causal"] <= full["attention_flops_full"]
    assert full["flops"] == full["linear_flops"] + full["attention_flops"]
    assert full["step_flops_without_cache"] >= full["decode_step_flops"] / 2


@given(st.integers(1, 10**6))
def test_attention_quadruples_and_matrices_double(tokens: int) -> None:
    got = results(model="meta-llama/Llama-2-7b-hf", tokens=tokens)
    assert got["attention_growth_when_tokens_double"] == 4
    assert 2 < got["flops_growth_when_tokens_double"] < 4


def test_windows_save_scores_and_gqa_does_not() -> None:
    assert results(model="google/gemma-3-27b-it", tokens=128_000, mask="causal")["attention_flops"] == (
        2 * 32 * 256 * (52 * (1024 * 1025 // 2 + (128_000 - 1024) * 1024) + 10 * 128_000 * 128_001 // 2)
    )
    grouped = results(model="meta-llama/Meta-Llama-3-8B", tokens=1000)
    assert grouped["attention_flops"] == 4 * 32 * 1000**2 * 4096


@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-V3", "ai21labs/Jamba-v0.1", "google/gemma-4-31B-it"])
def test_unusual_models_compute(model: str) -> None:
    assert results(model=model)["flops"] > 0


OWN = {"model": "own", "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "mlp": "gated"}


def test_an_own_geometry_counts_as_the_registered_model_it_describes() -> None:
    own = results(**OWN, intermediate=14336, vocabulary=128_256, tokens=5000)
    assert own == results(model="meta-llama/Meta-Llama-3-8B", tokens=5000)
    bare = results(**OWN, intermediate=14336, tokens=10)
    assert bare["linear_flops"] == 2 * 10 * 32 * 4096 * (128 * (2 * 32 + 2 * 8) + 3 * 14336)
    limited = results(**OWN, tokens=5000, mask="causal", window=1000, window_layers=16)
    pairs = 16 * (1000 * 1001 // 2 + 4000 * 1000) + 16 * 5000 * 5001 // 2
    assert limited["attention_flops"] == 2 * 32 * 256 * pairs


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({"model": "own", "hidden": 64}, ["layers"]),
        ({"model": "gpt2", "layers": 2, "mlp": "gated"}, ["layers", "mlp"]),
        (OWN | {"window_layers": 2}, ["window_layers"]),
        (OWN | {"window": 9, "window_layers": 33}, ["window_layers"]),
        (OWN | {"experts": 8}, ["active_experts"]),
        (OWN | {"experts": 8, "active_experts": 9}, ["active_experts"]),
        (OWN | {"active_experts": 9}, ["active_experts"]),
    ],
)
def test_what_does_not_go_together_is_named(more: dict[str, Any], wrong: list[str]) -> None:
    outcome = run(CALCULATORS["attention"], {k: str(v) for k, v in more.items()})
    assert [e.name for e in outcome.errors] == wrong
