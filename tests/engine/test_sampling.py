"""Every sampling step beside transformers' processor, and properties of the whole."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    MinPLogitsWarper,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

from engine import EngineError, Sampling, sampling

VOCAB = 500


def random_logits(seed: int, vocab: int = VOCAB) -> torch.Tensor:
    return torch.randn(vocab, generator=torch.Generator().manual_seed(seed)) * 4


def same(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert torch.equal(found == -math.inf, expected == -math.inf)
    finite = found > -math.inf
    torch.testing.assert_close(found[finite], expected[finite], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("value", [0.05, 0.3, 0.9, 0.99])
def test_the_truncations_equal_transformers(seed: int, value: float) -> None:
    logits = random_logits(seed)
    none = torch.zeros(1, 0, dtype=torch.long)
    same(sampling.top_p(logits, value), TopPLogitsWarper(value)(none, logits[None])[0])
    same(sampling.min_p(logits, value), MinPLogitsWarper(value)(none, logits[None])[0])
    same(sampling.typical_p(logits, value), TypicalLogitsWarper(value)(none, logits[None])[0])
    same(sampling.temperature(logits, value), TemperatureLogitsWarper(value)(none, logits[None])[0])
    k = max(1, int(value * VOCAB))
    same(sampling.top_k(logits, k), TopKLogitsWarper(k)(none, logits[None])[0])


@pytest.mark.parametrize("seed", range(6))
def test_the_penalties_equal_transformers(seed: int) -> None:
    logits = random_logits(seed)
    tokens = random.Random(seed).choices(range(8), k=40)
    ids = torch.tensor([tokens])
    for penalty in (0.7, 1.3, 5.0):
        expected = RepetitionPenaltyLogitsProcessor(penalty)(ids, logits[None].clone())[0]
        same(sampling.repetition_penalty(logits, tokens, penalty), expected)
    for n in (1, 2, 3, 5):
        same(
            sampling.no_repeat_ngram(logits, tokens, n),
            NoRepeatNGramLogitsProcessor(n)(ids, logits[None].clone())[0],
        )


def test_transformers_order_is_temperature_first() -> None:
    s = Sampling(temperature=2.0, top_k=50, top_p=0.8, min_p=0.02, typical_p=0.9)
    logits, none = random_logits(1)[None], torch.zeros(1, 0, dtype=torch.long)
    expected = logits
    warpers = [TemperatureLogitsWarper(2.0), TopKLogitsWarper(50), TopPLogitsWarper(0.8)]
    for step in (*warpers, MinPLogitsWarper(0.02), TypicalLogitsWarper(0.9)):
        expected = step(none, expected)
    same(sampling.apply(logits[0], sampling.filter_steps(s)), expected[0])


def test_the_two_orders_keep_different_sets() -> None:
    logits = random_logits(2)
    kept = {
        order: int((sampling.apply(logits, sampling.filter_steps(
            Sampling(temperature=3.0, top_p=0.9, order=order))) > -math.inf).sum())
        for order in ("temperature_first", "temperature_last")
    }  # fmt: skip
    assert kept["temperature_first"] > 3 * kept["temperature_last"]


def test_counts_weigh_the_output_alone() -> None:
    logits = torch.zeros(10)
    history = sampling.History([1, 1, 2])
    for token in (3, 3, 4):
        history.add(token)
    steps = sampling.penalty_steps(Sampling(frequency_penalty=0.5, presence_penalty=0.25), history)
    assert sampling.apply(logits, steps).tolist() == [0, 0, 0, -1.25, -0.75, 0, 0, 0, 0, 0]


SETTINGS = st.builds(
    Sampling,
    temperature=st.floats(0.1, 5),
    top_k=st.sampled_from([0, 0, 1, 5, 40, 499]),
    top_p=st.sampled_from([1.0, 1.0, 0.1, 0.5, 0.9, 0.999]),
    min_p=st.sampled_from([0.0, 0.0, 0.01, 0.1, 0.9]),
    order=st.sampled_from(["temperature_first", "temperature_last"]),
)


@settings(max_examples=150, deadline=None)
@given(SETTINGS, st.integers(0, 10_000), st.sampled_from([600, 5000]))
def test_the_shortlist_chooses_what_the_whole_vocabulary_would(s: Sampling, seed: int, vocab: int) -> None:
    logits = random_logits(seed, vocab)
    short = sampling.shortlist(logits, s)
    whole = sampling.apply(logits, sampling.filter_steps(s)).softmax(-1)
    if short is None:
        return
    ids, values = short
    part = torch.zeros(vocab)
    part[ids] = sampling.apply(values, sampling.after_shortlist(s)).softmax(-1)
    # On the border of a nucleus rounding may keep or drop one token of the mass the border itself has.
    assert (
        float((part - whole).abs().max()) <= 1e-4 or abs(int((part > 0).sum()) - int((whole > 0).sum())) <= 1
    )


@settings(max_examples=100, deadline=None)
@given(SETTINGS, st.integers(0, 10_000))
def test_the_likeliest_token_always_stays_and_a_kept_token_is_chosen(s: Sampling, seed: int) -> None:
    logits = random_logits(seed)
    kept = sampling.apply(logits, sampling.filter_steps(s))
    assert kept[logits.argmax()] > -math.inf
    assert kept[sampling.choose(logits, s, random.Random(seed))] > -math.inf


def test_draws_follow_the_distribution() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -math.inf, -1.0, 0.5])
    expected = logits.softmax(-1)
    rng = random.Random(5)
    counts = Counter(sampling.draw(logits, rng) for _ in range(20_000))
    chi_square = sum(
        (counts[i] - 20_000 * p) ** 2 / (20_000 * p) for i, p in enumerate(expected.tolist()) if p > 0
    )
    assert counts[3] == 0
    assert chi_square < 18.47  # 4 degrees of freedom, p = 0.001


@given(st.floats(0, 0.999999))
def test_a_draw_never_lands_on_a_removed_token(number: float) -> None:
    class Fixed(random.Random):
        def random(self) -> float:
            return number

    logits = torch.tensor([-math.inf, 1.0, -math.inf, 1.0, -math.inf])
    assert sampling.draw(logits, Fixed()) in (1, 3)


def test_greedy_takes_the_largest_even_with_filters_set() -> None:
    logits = random_logits(9)
    assert sampling.choose(logits, Sampling(temperature=0, top_p=0.5), random.Random(0)) == int(
        logits.argmax()
    )


def test_penalties_stay_on_the_logits_device() -> None:
    logits = torch.tensor([1.0, 2.0, -3.0, 4.0])
    # Whatever is made without naming the logits' device goes elsewhere, as on a machine with a GPU.
    with torch.device("meta"):
        biased = sampling.bias(logits, {1: 1.0, 2: -2.0})
        counted = sampling.count_penalties(logits, {1: 1, 3: 2}, 0.5, 0.25)
        repeated = sampling.repetition_penalty(logits, [2, 3, 2], 2.0)
    assert biased.tolist() == [1.0, 3.0, -5.0, 4.0]
    assert counted.tolist() == [1.0, 1.25, -3.0, 2.75]
    assert repeated.tolist() == [1.0, 2.0, -6.0, 2.0]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_distribution_is_not_drawn_from(value: float) -> None:
    logits = torch.tensor([0.0, value, 1.0])
    with pytest.raises(EngineError, match="no distribution") as caught:
        sampling.draw(logits, random.Random(0))
    assert caught.value.code == "not_finite"
    with pytest.raises(EngineError, match="no distribution"):
        sampling.check_choice(logits)


@pytest.mark.parametrize("order", ["temperature_first", "temperature_last"])
def test_the_bounds_of_the_settings_keep_the_likeliest(order: str) -> None:
    logits = random_logits(3)
    best = int(logits.argmax())
    for changes in ({}, {"top_p": 0.9}, {"typical_p": 0.9}, {"top_k": 5, "min_p": 0.1}):
        s = Sampling.from_dict({"temperature": 1e-4, "order": order, **changes})
        assert sampling.choose(logits, s, random.Random(1)) == best
    pushed = sampling.bias(logits, {7: 1e4})
    assert sampling.choose(pushed, Sampling(temperature=1e-4), random.Random(1)) == 7
    spread = sampling.repetition_penalty(logits, range(VOCAB), 0.01)
    assert sampling.choose(spread, Sampling(temperature=1e-4), random.Random(1)) == best
