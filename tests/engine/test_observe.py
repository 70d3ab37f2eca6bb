"""What a look inside shows is what the model computed: transformers' own attentions and hidden states."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from engine import InvalidRequest, Observe, Request, Sampling, TokenEvent
from engine.llm import Engine
from engine.observe import MAX_MAP_TOKENS
from tests.engine.tiny import oracle, tiny_engine

TEXT = "the causal mask hides what comes later"


@pytest.fixture(scope="module")
def model() -> Any:
    return oracle(seed=6)


@pytest.fixture(scope="module")
def tiny(model: Any) -> Iterator[Engine]:
    with tiny_engine(model) as engine:
        yield engine


@pytest.fixture(scope="module")
def truth(model: Any) -> Any:
    with torch.inference_mode():
        ids = torch.tensor([list(TEXT.encode())])
        return model(ids, output_attentions=True, output_hidden_states=True)


def test_attention_maps_are_transformers_own(tiny: Engine, truth: Any) -> None:
    pairs = tuple((layer, head) for layer in range(3) for head in (0, 3, None))
    found = tiny.observe(Observe(Request(prompt=TEXT), attention=pairs))
    for seen in found.attention:
        expected = truth.attentions[seen.layer][0]
        expected = expected.mean(0) if seen.head is None else expected[seen.head]
        for i, row in enumerate(seen.weights):
            assert len(row) == i + 1
            assert sum(row) == pytest.approx(1, abs=1e-5)
            assert row == pytest.approx(expected[i, : i + 1].tolist(), abs=1e-5)


def test_norms_are_of_the_residual_stream(tiny: Engine, truth: Any, model: Any) -> None:
    found = tiny.observe(Observe(Request(prompt=TEXT), norms=True))
    # transformers' last hidden state is already normed; the ones before are the inputs of the layers.
    for row, expected in zip(found.hidden_norms[:3], truth.hidden_states[:3], strict=True):
        assert row == pytest.approx(expected[0].norm(dim=-1).tolist(), rel=1e-4)
    assert len(found.hidden_norms) == 4
    embedded = model.get_input_embeddings()(torch.tensor(list(TEXT.encode()))).norm(dim=-1).tolist()
    assert [t.embedding_norm for t in found.tokens] == pytest.approx(embedded, rel=1e-4)


def test_logits_of_any_position(tiny: Engine, truth: Any) -> None:
    found = tiny.observe(Observe(Request(prompt=TEXT), positions=(0, 5, -1), top=7))
    assert [seen.position for seen in found.logits] == [0, 5, len(TEXT) - 1]
    for seen in found.logits:
        expected = truth.logits[0, seen.position]
        assert seen.logits == pytest.approx(expected.topk(7).values.tolist(), abs=1e-3)
        assert sum(a.probability for a in seen.top) + seen.rest == pytest.approx(1, abs=1e-5)
        assert seen.entropy == pytest.approx(
            torch.distributions.Categorical(logits=expected).entropy().item()
        )


def test_the_steps_are_those_a_request_would_take(tiny: Engine) -> None:
    s = Sampling(temperature=0.5, top_k=6, top_p=0.8, repetition_penalty=1.3, logprobs=20, max_tokens=1)
    seen = tiny.observe(Observe(Request(prompt=TEXT, sampling=s))).logits[0]
    assert [step.name for step in seen.steps] == ["repetition_penalty", "temperature", "top_k", "top_p"]
    counts = [step.kept for step in seen.steps]
    assert counts[:3] == [259, 259, 6]
    assert 1 <= counts[3] <= 6
    handle = tiny.submit(Request(prompt=TEXT, sampling=s))
    token = next(event for event in handle if isinstance(event, TokenEvent))
    assert token.steps == seen.steps
    assert token.alternatives[:20] == seen.top
    for before, after in zip(seen.top, seen.top[1:], strict=False):
        assert before.probability >= after.probability


def test_a_greedy_choice_keeps_one(tiny: Engine) -> None:
    seen = tiny.observe(Observe(Request(prompt=TEXT))).logits[0]
    assert [(step.name, step.kept) for step in seen.steps] == [("greedy", 1)]
    assert [a.kept for a in seen.top[:2]] == [1.0, 0.0]


def test_the_chosen_token_is_always_among_the_alternatives(tiny: Engine) -> None:
    s = Sampling(temperature=5, seed=3, logprobs=1, max_tokens=30)
    events = [e for e in tiny.submit(Request(prompt=TEXT, sampling=s)) if isinstance(e, TokenEvent)]
    assert any(len(e.alternatives) == 2 for e in events)
    assert all(e.token_id in [a.token_id for a in e.alternatives] for e in events)


def test_ids_can_be_given_and_come_back(tiny: Engine) -> None:
    ids = tuple(TEXT.encode())
    by_ids = tiny.observe(Observe(token_ids=ids))
    assert tuple(t.token_id for t in by_ids.tokens) == ids
    assert by_ids.logits == tiny.observe(Observe(Request(prompt=TEXT))).logits
    json.dumps(by_ids.to_dict())


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ({}, "token_ids"),
        ({"prompt": "x", "token_ids": [1]}, "token_ids"),
        ({"token_ids": []}, "no tokens"),
        ({"token_ids": [259]}, "below 259"),
        ({"token_ids": [True]}, "whole numbers"),
        ({"prompt": "x", "attention": [[3, 0]]}, "0 to 2"),
        ({"prompt": "x", "attention": [[0, 4]]}, "0 to 3"),
        ({"prompt": "x", "attention": [1]}, "layer, head"),
        ({"prompt": "x", "positions": [1]}, "0 to 0"),
        ({"prompt": "x", "positions": [-2]}, "position"),
        ({"prompt": "x", "positions": ["a"]}, "position"),
        ({"prompt": "x", "top": -1}, "top"),
        ({"prompt": "x" * (MAX_MAP_TOKENS + 1), "attention": [[0, 0]]}, "256"),
    ],
)
def test_what_is_not_there_is_refused(tiny: Engine, wanted: dict[str, Any], part: str) -> None:
    with pytest.raises(InvalidRequest, match=part):
        tiny.observe(Observe.from_dict(wanted))
    assert len(tiny.generate(Request(prompt="x", sampling=Sampling(max_tokens=2))).token_ids) == 2


def test_a_look_takes_turns_with_requests(tiny: Engine) -> None:
    handles = [tiny.submit(Request(prompt=TEXT, sampling=Sampling(max_tokens=60))) for _ in range(3)]
    looks = [tiny.observe(Observe(Request(prompt=TEXT))) for _ in range(5)]
    assert all(look.logits == looks[0].logits for look in looks)
    assert len({h.result(30).token_ids for h in handles}) == 1
