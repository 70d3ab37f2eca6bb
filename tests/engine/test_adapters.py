"""Adapters: served beside each other in one batch, equal to merged weights, never trusted unchecked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from engine import InvalidRequest, ModelError, Request, Sampling
from engine.adapters import SHIPPED, load_adapter
from engine.llm import Engine
from engine.lora import merge
from engine.train_model import Trainee, new_parameters, tree
from tests.engine.tiny import decoder_of, oracle, tiny_engine

PROMPTS = ["what is a cache", "how long is a row", "why do drafts pay", "when does it end"]


def random_tensors(engine: Engine, seed: int) -> dict[str, Tensor]:
    """Updates large enough to change what is said."""
    made = new_parameters(engine.decoder, rank=4, seed=seed, first_layer=1)
    rng = torch.Generator().manual_seed(seed)
    made |= {name: torch.randn(t.shape, generator=rng) for name, t in made.items() if name.endswith(".b")}
    return made | {"head.weight": torch.randn(1, 64, generator=rng)}


def write_adapter(folder: Path, engine: Engine, seed: int, **changes: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(random_tensors(engine, seed), folder / "adapter.safetensors")
    digest = hashlib.sha256((folder / "adapter.safetensors").read_bytes()).hexdigest()
    base = {"name": "tiny", "sha256": engine.card.sha256}
    card = {"sha256": digest, "base": base, "factor": 0.5, "classes": ["stated"], **changes}
    (folder / "card.json").write_text(json.dumps(card))
    return folder


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with tiny_engine(oracle(seed=11), chunk=16, max_batch=4) as made:
        yield made


@pytest.fixture(scope="module")
def two(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("adapters")
    for seed, name in ((1, "one"), (2, "two")):
        engine.attach(write_adapter(folder / name, engine, seed))
    return engine


def ask(prompt: str, adapter: str | None, **settings: object) -> Request:
    sampling = Sampling.from_dict({"max_tokens": 20, **settings})
    return Request(prompt=prompt, adapter=adapter, sampling=sampling)


@pytest.mark.parametrize("name", ["one", "two"])
def test_an_adapter_says_what_merged_weights_say(two: Engine, name: str) -> None:
    merged = decoder_of(oracle(seed=11))
    merge(merged, two.adapters[name].updates)
    with tiny_engine(oracle(seed=11)) as plain:
        plain.decoder.layers = merged.layers
        for prompt in PROMPTS:
            wanted = plain.generate(ask(prompt, None)).token_ids
            assert two.generate(ask(prompt, name)).token_ids == wanted
            assert two.generate(ask(prompt, None)).token_ids != wanted


def test_one_batch_may_mix_adapters(two: Engine) -> None:
    wanted = [(p, name) for p in PROMPTS for name in ("one", None, "two")]
    alone = [two.generate(ask(p, name)).token_ids for p, name in wanted]
    handles = [two.submit(ask(p, name)) for p, name in wanted]
    together = [h.result(30) for h in handles]
    assert [r.token_ids for r in together] == alone
    assert max(r.stats["batch_size_max"] for r in together) == 4


def test_the_prefix_cache_keeps_adapters_apart(two: Engine, tmp_path: Path) -> None:
    prompt = "a long beginning that every one of these requests has in common: " * 2
    plain = two.generate(ask(prompt + "a", None))
    first = two.generate(ask(prompt + "a", "one"))
    assert (first.usage["cached_tokens"], first.token_ids != plain.token_ids) == (0, True)
    assert two.generate(ask(prompt + "b", "one")).usage["cached_tokens"] > 0
    two.attach(write_adapter(tmp_path / "new", two, 3), "renamed")
    two.generate(ask(prompt + "a", "renamed"))
    two.attach(write_adapter(tmp_path / "newer", two, 4), "renamed")
    assert two.generate(ask(prompt + "a", "renamed")).usage["cached_tokens"] == 0
    two.attach(write_adapter(tmp_path / "stronger", two, 4, factor=2), "renamed")
    assert two.generate(ask(prompt + "a", "renamed")).usage["cached_tokens"] == 0


def test_a_head_classifies_by_the_last_token(two: Engine) -> None:
    scores = [two.classify(p, "one")["stated"] for p in PROMPTS]
    assert all(0 <= s <= 1 for s in scores)
    assert len(set(scores)) == len(PROMPTS)
    assert scores != [two.classify(p, "two")["stated"] for p in PROMPTS]
    handle = two.submit(ask("meanwhile", None, max_tokens=60))
    assert two.classify(PROMPTS[0], "one")["stated"] == scores[0]
    assert handle.result(30).error is None


def test_an_unknown_adapter_is_refused(two: Engine) -> None:
    for name in ("three", "../adapters_data", ""):
        with pytest.raises(InvalidRequest, match="no adapter"):
            two.submit(ask("hello", name))
    with pytest.raises(InvalidRequest, match="no adapter"):
        two.classify("hello", "three")
    two.adapters["gone"] = two.adapters["one"]
    two.detach("gone")
    with pytest.raises(InvalidRequest, match="no adapter"):
        two.classify("hello", "gone")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"sha256": "0" * 64}, "adapter_corrupt"),
        ({"base": {"name": "other", "sha256": "1" * 64}}, "adapter_mismatch"),
        ({"factor": 0}, "adapter_corrupt"),
        ({"classes": ["a", "b"]}, "adapter_corrupt"),
        ({"base": 3}, "adapter_corrupt"),
    ],
)
def test_an_adapter_that_is_not_what_it_says_is_refused(
    engine: Engine, tmp_path: Path, changes: dict[str, object], code: str
) -> None:
    with pytest.raises(ModelError) as caught:
        engine.attach(write_adapter(tmp_path, engine, 5, **changes))
    assert caught.value.code == code


def test_a_missing_or_cut_file_is_named(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"card\.json is missing"):
        engine.attach(tmp_path / "nothing")
    weights = write_adapter(tmp_path, engine, 6) / "adapter.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ModelError, match="sha256"):
        engine.attach(tmp_path)
    weights.unlink()
    with pytest.raises(ModelError, match="can't be read"):
        engine.attach(tmp_path)


def test_an_update_of_another_size_is_refused(engine: Engine, tmp_path: Path) -> None:
    with tiny_engine(oracle(seed=1, intermediate_size=64)) as other:
        write_adapter(tmp_path, other, 7)
    with pytest.raises(ModelError, match="don't fit"):
        load_adapter(tmp_path, engine.decoder, engine.card.sha256)


def test_a_trainee_computes_what_the_engine_serves(two: Engine) -> None:
    """A passage with two branches in training equals each question served after the passage."""
    tensors = random_tensors(two, 1)
    model = Trainee(two.decoder, tensors, 0.5, 0.0)
    trunk, branches = list(b"a passage of some length"), [list(b" first?"), list(b" and the second?")]
    with torch.no_grad():
        hidden = model.hidden(tree(trunk, branches))
    ends = [len(trunk) + len(branches[0]) - 1, len(trunk) + sum(map(len, branches)) - 1]
    for branch, end in zip(branches, ends, strict=True):
        served = two.classify(bytes(trunk + branch).decode(), "one")["stated"]
        trained = torch.nn.functional.linear(hidden[end], tensors["head.weight"], tensors["head.bias"])
        assert served == pytest.approx(float(trained.sigmoid()), abs=1e-5)


def test_the_shipped_adapter_is_whole_and_says_where_it_comes_from() -> None:
    folder = SHIPPED / "answerability"
    card = json.loads((folder / "card.json").read_text())
    weights = folder / "adapter.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == card["sha256"]
    assert weights.stat().st_size < 8_000_000
    assert "CC BY-SA" in card["licence"]
    assert not set(card["data"]["trained_on"]) & set(card["data"]["held_out"])
    assert "/" not in card["command"]
