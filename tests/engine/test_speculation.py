"""Prompt lookup changes the speed, never the output."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from engine import Message, Request, Sampling, TokenEvent
from engine.llm import Engine
from engine.sampling import choose
from engine.speculation import PromptLookup
from engine.types import FinishEvent
from tests.engine.tiny import oracle, tiny_engine


@pytest.fixture(scope="module")
def tiny() -> Iterator[Engine]:
    with tiny_engine(oracle(seed=21), chunk=16, max_batch=4) as made:
        yield made


def test_drafts_follow_the_last_n_gram() -> None:
    lookup = PromptLookup([1, 2, 3, 4, 5, 6, 1, 2, 3], 4)
    assert lookup.draft(10) == [4, 5, 6, 1]
    assert lookup.draft(2) == [4, 5]
    lookup.add(9)
    assert lookup.draft(10) == []


def test_drafts_that_fail_are_paused_and_resume() -> None:
    lookup = PromptLookup([1, 2, 3] * 4, None)
    assert lookup.draft(10)
    lookup.report(14, 0)
    assert lookup.draft(10) == []
    for token in [1, 2, 3] * 20:
        lookup.add(token)
    assert lookup.draft(10)


@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 0.9, "seed": 4}, {"temperature": 1.3, "top_p": 0.8, "seed": 1}]
)
def test_output_is_identical_with_and_without_drafts(tiny: Engine, settings: dict[str, float]) -> None:
    for prompt in ("abcabcabcabcabcabc", "the cat the cat the cat the", "xyxyxyxyxyxyxyxy"):
        sampling = Sampling.from_dict({"max_tokens": 60, "logit_bias": {256: -1000.0}, **settings})
        without = tiny.generate(Request(prompt=prompt, sampling=sampling, speculate=0))
        drafted = tiny.generate(Request(prompt=prompt, sampling=sampling, speculate=7))
        assert drafted.token_ids == without.token_ids
        assert "speculation" not in without.stats


def test_the_real_model_in_int4_is_identical_to_the_bit(engine: Engine) -> None:
    text = "Repeat this exactly: The quick brown fox jumps over the lazy dog near the river bank at noon."
    asked = (Message("user", text),)
    for settings in ({}, {"temperature": 0.7, "seed": 5}):
        sampling = Sampling.from_dict({"max_tokens": 48, "logprobs": 1, **settings})
        without = engine.generate(Request(messages=asked, sampling=sampling, speculate=0))
        drafted = engine.generate(Request(messages=asked, sampling=sampling, speculate=7))
        assert drafted.token_ids == without.token_ids
        assert drafted.text == without.text
    assert drafted.stats["speculation"]["accepted"] > 0


def test_drafts_longer_than_a_pass_change_no_bit(engine: Engine) -> None:
    """More rows than a decoding pass has would take a prompt's kernels."""
    prompt = "The steam engine turns heat into motion; water boils in a vessel and pushes a piston. " * 4
    sampling = Sampling(temperature=0, max_tokens=60, logprobs=1)
    seen = []
    for longest in (0, 64):
        events = list(engine.submit(Request(prompt=prompt, sampling=sampling, speculate=longest)))
        seen.append([(e.token_id, e.logprob) for e in events if isinstance(e, TokenEvent)])
    assert isinstance(events[-1], FinishEvent)
    assert events[-1].result.stats["speculation"]["accepted"] > 23
    assert seen[0] == seen[1]


def test_accepting_a_choice_that_equals_the_draft_preserves_the_distribution() -> None:
    logits = torch.tensor([1.5, 0.3, -0.5, 1.0, 0.0])
    expected = (logits / 0.8).softmax(-1).tolist()
    s = Sampling(temperature=0.8)
    rng = random.Random(17)
    draft, first = 3, Counter[int]()
    trials = 20_000
    for _ in range(trials):
        token = choose(logits, s, rng)
        first[token] += 1
        if token == draft:
            choose(logits, s, rng)
    chi_square = sum((first[i] - trials * p) ** 2 / (trials * p) for i, p in enumerate(expected))
    assert chi_square < 18.47  # 4 degrees of freedom, p = 0.001


def test_sampled_output_with_drafts_follows_the_model_over_many_seeds(tiny: Engine) -> None:
    prompt = "abababab"
    bias = {i: -1000.0 for i in range(257) if i not in (97, 98, 99, 100)}
    counts = {0: Counter[tuple[int, ...]](), 7: Counter[tuple[int, ...]]()}
    for speculate, seen in counts.items():
        for seed in range(150):
            sampling = Sampling(temperature=2.0, max_tokens=2, logit_bias=bias, seed=seed)
            request = Request(prompt=prompt, sampling=sampling, speculate=speculate)
            seen[tiny.generate(request).token_ids] += 1
    assert counts[0] == counts[7]
    assert len(counts[0]) > 4


def test_drafts_respect_the_grammar(engine: Engine) -> None:
    asked = (Message("user", "Answer with alpha alpha alpha alpha alpha alpha alpha beta."),)
    regex = r"(alpha ){20}beta"
    request = Request(messages=asked, regex=regex, speculate=7, sampling=Sampling(max_tokens=90))
    result = engine.generate(request)
    assert result.text == "alpha " * 20 + "beta"
    assert result.stats["speculation"]["proposed"] > 0
