"""Sampling, rotary positions and BPE: worked values, reference behaviour, and what must always hold."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interview.calculators.formulas.bpe import encode, train
from interview.calculators.formulas.positions import score
from interview.calculators.formulas.registry import CALCULATORS, Outcome, run
from interview.calculators.formulas.rotary import Stretch, frequencies
from interview.calculators.formulas.sampling_steps import Settings, draw, stages

ROWS = json.loads((Path(__file__).parents[2] / "data" / "calculator_cases.json").read_text("utf-8"))
CASES = {row["id"]: row for row in ROWS}
DRINKS = ("tea", "coffee", "water", "milk", "sugar")


def asked(slug: str, **given_inputs: Any) -> Outcome:
    return run(CALCULATORS[slug], {k: str(v) for k, v in given_inputs.items()})


def results(slug: str, **given_inputs: Any) -> dict[str, Any]:
    outcome = asked(slug, **given_inputs)
    assert outcome.result, outcome.errors
    return outcome.result.results


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"temperature": 0.5}, (0.769, 0.123, 0.069, 0.031, 0.008)),
        ({"temperature": 2}, (0.340, 0.215, 0.186, 0.152, 0.107)),
        ({"top_p": 0.9}, (0.526, 0.211, 0.158, 0.105, 0)),
        ({"top_k": 2}, (0.714, 0.286, 0, 0, 0)),
        ({"min_p": 0.25}, (0.588, 0.235, 0.176, 0, 0)),
        ({"temperature": 0}, (1, 0, 0, 0, 0)),
    ],
)
def test_the_five_drinks(settings: dict[str, Any], expected: tuple[float, ...]) -> None:
    got = results("sampling", **settings)
    assert tuple(round(got[f"p[{d}]"], 3) for d in DRINKS) == expected


def test_the_order_of_steps_changes_what_is_kept() -> None:
    case = CASES["sampling-order"]
    base = {"values": "3, 2, 1", "given_as": "logits", "temperature": 0.5, "top_p": 0.8}
    for order in case["input"]["orders"]:
        got = results("sampling", order=order, **base)
        probabilities = [got[f"p[token {i}]"] for i in range(3)]
        kept = [i for i, p in enumerate(probabilities) if p > 0]
        assert kept == case["expected"][order]["kept"]
        assert [probabilities[i] for i in kept] == pytest.approx(case["expected"][order]["probs"], abs=1e-5)
    outcome = asked("sampling", **base)
    assert outcome.result and "order matters" in outcome.result.warnings[0]


LOGITS = st.lists(st.floats(-20, 20), min_size=1, max_size=24)
SETTINGS = st.builds(
    Settings,
    temperature=st.one_of(st.just(0.0), st.floats(0.05, 5)),
    top_k=st.integers(0, 30),
    top_p=st.floats(0, 1),
    min_p=st.floats(0, 1),
    repetition_penalty=st.floats(0.5, 2),
    frequency_penalty=st.floats(-2, 2),
    presence_penalty=st.floats(-2, 2),
    order=st.sampled_from(["temperature_first", "temperature_last"]),
)


@given(LOGITS, SETTINGS, st.integers(0, 3))
def test_every_stage_is_a_distribution_and_something_is_kept(
    logits: list[float], settings: Settings, n: int
) -> None:
    for stage in stages(logits, [n] * len(logits), settings):
        assert math.fsum(stage.probabilities) == pytest.approx(1.0)
        assert all(0 <= p <= 1 + 1e-12 for p in stage.probabilities)


@given(LOGITS, st.floats(0.05, 5))
def test_temperature_never_reorders_or_removes(logits: list[float], temperature: float) -> None:
    before = stages(logits, [0] * len(logits), Settings())[-1].probabilities
    after = stages(logits, [0] * len(logits), Settings(temperature=temperature))[-1].probabilities
    for i in range(len(logits)):
        for j in range(len(logits)):
            if before[i] > before[j] * (1 + 1e-9):
                assert after[i] >= after[j]


@pytest.mark.parametrize(
    ("values", "given_as", "temperature"),
    [
        ("tea 0.5, milk 0.3", "probabilities", "1e-9"),
        ("3, 2, 1", "logits", "1e-5"),
        ("3, 2, 1", "logits", "5e-324"),
    ],
)
def test_a_tiny_temperature_is_greedy_and_its_steps_hold(
    values: str, given_as: str, temperature: str
) -> None:
    outcome = asked("sampling", values=values, given_as=given_as, temperature=temperature)
    assert outcome.result, outcome.errors
    assert outcome.result.results["top_probability"] == 1 and outcome.result.results["kept_tokens"] == 1
    assert outcome.result.steps[-1].value == 1


def test_the_steps_hold_where_the_plain_probability_is_zero() -> None:
    outcome = asked("sampling", values="0, -1000", given_as="logits", temperature="100")
    assert outcome.result
    assert outcome.result.results["top_probability"] == pytest.approx(1 / (1 + math.exp(-10)))
    assert outcome.result.steps[-1].value == pytest.approx(1 / (1 + math.exp(-10)))


def test_draws_follow_the_distribution_and_the_seed() -> None:
    probabilities = (0.5, 0.3, 0.2, 0.0)
    counts = draw(probabilities, 10_000, 7)
    assert counts == draw(probabilities, 10_000, 7) and sum(counts) == 10_000 and counts[3] == 0
    chi = sum((c - 10_000 * p) ** 2 / (10_000 * p) for c, p in zip(counts, probabilities, strict=True) if p)
    assert chi < 13.8  # 0.999 quantile of chi-squared with 2 degrees of freedom


@pytest.mark.parametrize("bad", ["", "tea", "tea 0", "tea -1", "tea 0.5, tea 0.5", "a 1e999", "tea nan"])
def test_unreadable_distributions_are_named(bad: str) -> None:
    assert [e.name for e in asked("sampling", values=bad).errors] == ["values"]


def test_penalties_need_known_words() -> None:
    assert asked("sampling", written="beer 1").errors[0].name == "written"
    got = results("sampling", written="tea 3", frequency_penalty=1)
    assert got["p[tea]"] < 0.1


@given(
    st.integers(1, 128),
    st.integers(0, 10**5),
    st.integers(0, 10**5),
    st.sampled_from(["none", "linear", "ntk", "dynamic", "yarn"]),
)
def test_only_the_distance_counts(half: int, query: int, key: int, scaling: str) -> None:
    turning = frequencies(2 * half, 10_000.0, Stretch(scaling, 4.0, 4096, 9000))
    assert len(turning) == half and all(w > 0 for w in turning)
    direct = sum(
        math.cos(query * w) * math.cos(key * w) + math.sin(query * w) * math.sin(key * w) for w in turning
    )
    assert direct / half == pytest.approx(score(query - key, turning), abs=1e-6)
    assert abs(score(query - key, turning)) <= 1 + 1e-12


def test_scaling_stretches() -> None:
    plain, linear, yarn, ntk = (
        frequencies(128, 10_000.0, Stretch(way, 4.0, 4096)) for way in ("none", "linear", "yarn", "ntk")
    )
    assert linear == [w / 4 for w in plain]
    assert yarn[0] == plain[0] and yarn[-1] == pytest.approx(plain[-1] / 4)
    assert ntk[0] == plain[0] and ntk[-1] == pytest.approx(plain[-1] / 4)
    got = results("positions", query=507, key=504)
    assert got["score"] == pytest.approx(results("positions", query=100_507, key=100_504)["score"])
    assert got["angle_radians"] == 3


def reference(kind: str, head: int, base: float, by: Stretch) -> list[float]:
    """What the transformers library computes for this head."""
    import torch
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    scaled: dict[str, Any] = {"rope_type": kind, "factor": by.factor, "rope_theta": base}
    scaled |= {"original_max_position_embeddings": by.context} if kind == "yarn" else {}
    config = LlamaConfig(
        hidden_size=8 * head,
        num_attention_heads=8,
        head_dim=head,
        max_position_embeddings=by.context,
        rope_parameters=scaled,
    )
    made = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=by.length)
    return list(made[0].tolist())


@pytest.mark.parametrize("kind", ["linear", "dynamic", "yarn"])
@pytest.mark.parametrize(
    ("head", "base", "by"),
    [
        (128, 10_000.0, Stretch("", 4.0, 4096, 16_384)),
        (64, 150_000.0, Stretch("", 32.0, 4096, 100_000)),
        (128, 1_000_000.0, Stretch("", 4.0, 32_768, 5)),
        (256, 500_000.0, Stretch("", 8.0, 8192, 9000)),
        (32, 10_000.0, Stretch("", 2.0, 100, 150)),
        (2, 10_000.0, Stretch("", 3.0, 2048, 2048)),
        (64, 10.0, Stretch("", 4.0, 4, 64)),
    ],
)
def test_scaling_agrees_with_the_transformers_library(kind: str, head: int, base: float, by: Stretch) -> None:
    if kind == "dynamic" and head == 2:
        return  # the library divides by head - 2
    ours = frequencies(head, base, replace(by, way=kind))
    assert reference(kind, head, base, by) == pytest.approx(ours, rel=2e-5)


@pytest.mark.parametrize("ramp", ["pair", "turns"])
@pytest.mark.parametrize("scaling", ["linear", "ntk", "dynamic", "yarn"])
def test_the_working_turns_as_the_head_does(scaling: str, ramp: str) -> None:
    for pair in (0, 20, 30, 63):
        asked_for = {"scaling": scaling, "ramp": ramp, "query": 9000, "key": 8999, "pair": pair}
        outcome = asked("positions", **asked_for)
        assert outcome.result
        got = outcome.result.results
        assert got["angle_radians"] == pytest.approx(got["frequency_radians_per_token"], rel=1e-9)


def test_yarn_of_the_paper_differs_inside_the_ramp_alone() -> None:
    pairs = frequencies(128, 10_000.0, Stretch("yarn", 4.0, 4096))
    turns = frequencies(128, 10_000.0, Stretch("yarn", 4.0, 4096, ramp="turns"))
    ramp = [i for i, (a, b) in enumerate(zip(pairs, turns, strict=True)) if abs(a - b) > 1e-9 * a]
    assert 0 < len(ramp) < 40 and ramp == list(range(ramp[0], ramp[-1] + 1))


def test_top_k_keeps_equals_of_the_last_as_transformers_does() -> None:
    drinks = {"values": "a 0.4, b 0.2, c 0.2, d 0.2", "top_k": 2}
    assert results("sampling", **drinks)["kept_tokens"] == 4
    assert results("sampling", **drinks, order="temperature_last")["kept_tokens"] == 2


@pytest.mark.parametrize(
    ("inputs", "field"), [({"head_dim": 7}, "head_dim"), ({"head_dim": 8, "pair": 4}, "pair")]
)
def test_impossible_heads_are_named(inputs: dict[str, int], field: str) -> None:
    assert asked("positions", **inputs).errors[0].name == field


def test_bpe_play_and_replay() -> None:
    outcome = asked(
        "bpe", words="play 5, plays 3, played 4, player 2, day 7, plan 2", merges=4, encode="replay"
    )
    assert outcome.result
    assert outcome.result.results["first_merge_count"] == 21
    assert outcome.result.every_table()[1].rows[0] == ("replay", "r · e · play", 3)


def test_bpe_hug() -> None:
    case = CASES["bpe-hug"]
    words = {tuple(w): n for w, n in case["input"]["word_counts"].items()}
    learned = train(words, case["input"]["merges"], "first")
    assert [[*m.pair, m.count] for m in learned] == case["expected"]["merges"]


WORDS = st.dictionaries(
    st.text("abcdé🙂", min_size=1, max_size=8), st.integers(1, 50), min_size=1, max_size=12
)


@given(WORDS, st.integers(0, 40), st.sampled_from(["first", "alphabetical"]), st.booleans())
def test_bpe_keeps_the_text_and_only_shortens(
    words: dict[str, int], merges: int, tie: str, end: bool
) -> None:
    corpus = {((*w, "</w>") if end else tuple(w)): n for w, n in words.items()}
    learned = train(corpus, merges, tie)
    assert all(a.count >= 1 for a in learned) and len(learned) <= merges
    for word in words:
        symbols = encode(word, learned, end)
        assert "".join(symbols) == word + ("</w>" if end else "")
        assert len(symbols) <= len(word) + end
    fewer = train(corpus, merges // 2, tie)
    assert learned[: len(fewer)] == fewer


@pytest.mark.parametrize("bad", ["", "play", "play x", "play 0", "play 1.5", "play 1, play 2"])
def test_unreadable_corpora_are_named(bad: str) -> None:
    assert [e.name for e in asked("bpe", words=bad).errors] == ["words"]
