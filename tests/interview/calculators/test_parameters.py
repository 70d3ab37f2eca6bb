"""Reading parameters: strict, named, and nothing huge echoed back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interview.calculators.formulas.kv_inputs import KvCacheInputs
from interview.calculators.formulas.parameters import InputErrors, canonical_query, parse
from interview.calculators.formulas.registry import CALCULATORS, run

KV = CALCULATORS["kv-cache"]


def message(**given: str) -> str:
    with pytest.raises(InputErrors) as caught:
        parse(KvCacheInputs, given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given_text", "value"),
    [
        ("4096", 4096),
        (" 4 096 ", 4096),
        ("4,096", 4096),
        ("128,000", 128_000),
        ("1_000", 1000),
        ("４０９６", 4096),
        ("\u200b4096\ufeff", 4096),
        ("+7", 7),
        ("4\u202f096", 4096),
    ],
)
def test_whole_numbers_people_paste(given_text: str, value: int) -> None:
    assert parse(KvCacheInputs, {"tokens": given_text}).tokens == value


@pytest.mark.parametrize(
    "bad",
    ["", " ", "NaN", "inf", "-inf", "1e3", "4096.0", "1,5", "12,34", "-1", "0", "9" * 60, "abc", "٣", "0x10"],
)
def test_everything_else_is_refused_by_name(bad: str) -> None:
    assert message(tokens=bad).startswith("tokens: ")


def test_ambiguous_k_is_refused_with_both_readings() -> None:
    assert "128000 or 131072" in message(tokens="128k")


def test_a_long_value_is_not_echoed() -> None:
    assert len(message(tokens="7" * 100_000)) < 200
    assert len(message(model="x" * 100_000)) < 200
    assert len(message(**{"y" * 100_000: "1"})) < 900


def test_unknown_names_are_refused_and_known_ones_listed() -> None:
    assert "unknown parameter" in message(batch="2")
    assert "sequences" in message(batch="2")


def test_unknown_model_suggests() -> None:
    assert "meta-llama/Meta-Llama-3.1-8B" in message(model="llama 3.1 8")


@pytest.mark.parametrize("name", ["Llama 3.1 8B", "meta-llama-3.1-8b", "META-LLAMA/META-LLAMA-3.1-8B"])
def test_models_are_found_by_what_people_call_them(name: str) -> None:
    assert parse(KvCacheInputs, {"model": name}).model == "meta-llama/Meta-Llama-3.1-8B"


@pytest.mark.parametrize(
    ("slug", "name", "typed", "meant"),
    [
        ("kv-cache", "dtype", "float16", "fp16"),
        ("kv-cache", "dtype", "BFloat16", "bf16"),
        ("kv-cache", "dtype", "f32", "fp32"),
        ("parameters", "dtype", "fp16", "bf16"),
        ("latency", "kv_dtype", "fp8_e4m3", "fp8"),
    ],
)
def test_a_dtype_goes_by_its_other_names_and_the_link_has_one(
    slug: str, name: str, typed: str, meant: str
) -> None:
    outcome, plain = run(CALCULATORS[slug], {name: typed}), run(CALCULATORS[slug], {name: meant})
    assert outcome.inputs == plain.inputs and outcome.query == plain.query


def test_every_error_is_reported_at_once() -> None:
    outcome = run(KV, {"tokens": "x", "dtype": "fp17", "colour": "red", "v": "2"})
    assert {e.name for e in outcome.errors} == {"tokens", "dtype", "colour", "v"}


def test_a_parameter_given_twice_with_different_values_is_refused() -> None:
    from django.http import QueryDict

    assert run(KV, QueryDict("tokens=1&tokens=2")).errors[0].name == "tokens"
    assert run(KV, QueryDict("tokens=2&tokens=2")).result


def test_canonical_query_leaves_defaults_out_and_fixes_the_order() -> None:
    assert canonical_query(KvCacheInputs()) == "v=1"
    outcome = run(KV, {"mode": "vllm", "tokens": "4096", "sequences": "1", "model": "gpt-3-175b", "v": "1"})
    assert outcome.query == "v=1&model=openai/gpt-3-175b&tokens=4096&mode=vllm"


def test_a_geometry_without_a_model_is_an_own_one() -> None:
    outcome = run(KV, {"layers": "96", "kv_heads": "8", "head_dim": "128", "tokens": "4096"})
    assert outcome.query == "v=1&model=own&layers=96&kv_heads=8&head_dim=128&tokens=4096"


@given(st.integers(1, 10**9), st.sampled_from(["fp16", "q8_0", "int8"]), st.floats(1e-3, 1e6))
def test_the_link_reads_back_as_the_same_inputs(tokens: int, dtype: str, memory: float) -> None:
    from django.http import QueryDict

    first = run(KV, {"tokens": str(tokens), "dtype": dtype, "memory_gib": repr(memory)})
    again = run(KV, QueryDict(first.query))
    assert again.inputs == first.inputs
    assert again.query == first.query
