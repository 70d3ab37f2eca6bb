"""Models by file, folder and hub id: loaded as transformers loads them, or refused before anything is read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import pre_tokenizers

from engine import ModelError, Observe, Request, Sampling, sources
from engine.llm import Engine
from engine.registry import DEFAULT_MODEL, MODELS
from tests.engine.tiny import SIZES, byte_tokenizer, oracle

TEXT = "a stranger reads the source"
GREEDY = Sampling(max_tokens=24)


def save(model: Any, folder: Path) -> Path:
    """The model as transformers saves it, with a byte tokenizer."""
    model.save_pretrained(folder)
    tokenizer = byte_tokenizer()
    backend = tokenizer.backend
    assert backend is not None
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.add_special_tokens(list(tokenizer.special))
    backend.save(str(folder / "tokenizer.json"))
    settings = {"chat_template": tokenizer.chat_template, "bos_token": "<bos>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def greedy_of(model: Any, n: int) -> list[int]:
    ids = torch.tensor([list(TEXT.encode())])
    with torch.inference_mode():
        return list(model.generate(ids, max_new_tokens=n, do_sample=False)[0, ids.shape[1] :].tolist())


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    model = oracle(seed=8)
    return model, save(model, tmp_path_factory.mktemp("llama"))


def test_a_folder_speaks_as_transformers_does(llama: tuple[Any, Path], tmp_path: Path) -> None:
    model, folder = llama
    with Engine.load(str(folder), tmp_path, device="cpu", weight_format="fp32") as engine:
        assert list(engine.generate(Request(prompt=TEXT, sampling=GREEDY)).token_ids) == greedy_of(model, 24)
        card = engine.card
    assert (card.name, card.weight_format, card.n_layers) == (folder.name, "fp32", 3)
    assert card.sha256 == sources.sha256_of(sources.find(str(folder)), tmp_path)
    assert (tmp_path / sources.HASHES).is_file()


@pytest.mark.parametrize("form", ["int8", "bf16"])
def test_a_folder_in_a_smaller_format(llama: tuple[Any, Path], tmp_path: Path, form: str) -> None:
    with Engine.load(str(llama[1]), tmp_path, device="cpu", weight_format=form, context=64) as engine:
        assert len(engine.generate(Request(prompt=TEXT, sampling=GREEDY)).token_ids) > 0
        assert (engine.card.weight_format, engine.card.context_length) == (form, 64)


def test_another_architecture_runs_through_transformers(tmp_path: Path) -> None:
    changes = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128, "n_inner": None}
    model = oracle("gpt2", seed=2, **changes)
    folder = save(model, tmp_path / "gpt2")
    with Engine.load(str(folder), tmp_path, device="cpu", weight_format="fp32") as engine:
        alone = engine.generate(Request(prompt=TEXT, sampling=GREEDY))
        handles = [engine.submit(Request(prompt=TEXT + "x" * n, sampling=GREEDY)) for n in (0, 5, 0)]
        together = [h.result(30).token_ids for h in handles]
        with pytest.raises(ModelError, match="can't be observed"):
            engine.observe(Observe(Request(prompt=TEXT)))
    assert list(alone.token_ids) == greedy_of(model, len(alone.token_ids))
    assert together[0] == together[2] == alone.token_ids
    assert alone.stats.get("speculation") is None


def test_a_hub_id_is_read_from_the_local_cache(
    llama: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    repo = tmp_path / "models--team--tiny"
    revision = "0" * 40
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text(revision)
    (repo / "snapshots").mkdir()
    (repo / "snapshots" / revision).symlink_to(llama[1])
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = sources.find("team/tiny", tmp_path)
    assert (found.name, found.revision, found.kind) == ("team/tiny", revision, "folder")
    with pytest.raises(ModelError, match="neither in the local cache"):
        sources.find("team/other", tmp_path)


def test_a_gguf_file_by_its_path(models_dir: Path, tmp_path: Path, engine: Engine) -> None:
    named = tmp_path / "own.gguf"
    named.symlink_to((models_dir / DEFAULT_MODEL / MODELS[DEFAULT_MODEL].weights).resolve())
    request = Request(prompt="The capital of France is", sampling=Sampling(max_tokens=8))
    with Engine.load(str(named), tmp_path, device="cpu") as other:
        assert other.generate(request).token_ids == engine.generate(request).token_ids
        assert other.card.sha256 == engine.card.sha256
        assert other.card.name == "own"
    assert list(tmp_path.glob("packed-*.safetensors"))


@pytest.mark.parametrize("name", ["gpt-9", "no/such/path.gguf", ""])
def test_an_unknown_model_says_what_can_be_given(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        sources.find(name or "unnamed", tmp_path)
    assert DEFAULT_MODEL in caught.value.message and "GGUF" in caught.value.message


def test_a_truncated_file_is_named_with_its_hash(llama: tuple[Any, Path], tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    folder.mkdir()
    for file in llama[1].iterdir():
        (folder / file.name).write_bytes(file.read_bytes()[: 40 if file.suffix == ".safetensors" else None])
    with pytest.raises(ModelError, match=r"model\.safetensors \(sha256 [0-9a-f]{64}\)"):
        Engine.load(str(folder), tmp_path, device="cpu")
    whole = llama[1] / "model.safetensors"
    (folder / "model.safetensors").write_bytes(whole.read_bytes()[:-1000])
    with pytest.raises(ModelError, match="can't be read"):
        Engine.load(str(folder), tmp_path, device="cpu", weight_format="fp32")


@pytest.mark.parametrize("kept", [0, 3, 5, 100_000, 98_000_000])
def test_a_truncated_gguf_file_is_named_with_its_hash(models_dir: Path, tmp_path: Path, kept: int) -> None:
    whole = models_dir / DEFAULT_MODEL / MODELS[DEFAULT_MODEL].weights
    cut = tmp_path / "cut.gguf"
    with whole.open("rb") as stream:
        raw = stream.read(kept)
    cut.write_bytes(raw)
    with pytest.raises(ModelError) as caught:
        Engine.load(str(cut), tmp_path, device="cpu")
    assert caught.value.code == "model_corrupt"
    assert f"cut.gguf (sha256 {hashlib.sha256(raw).hexdigest()})" in caught.value.message


def test_a_model_that_does_not_fit_is_refused_before_it_is_loaded(models_dir: Path) -> None:
    found = sources.find(DEFAULT_MODEL, models_dir)
    needed = sources.predicted_bytes(found, "int4", 512 * 2**20)
    assert 0.9e9 < needed < 1.5e9
    with pytest.raises(ModelError, match=r"needs about 1\.\d GB and 0\.5 GB are free"):
        sources.check_memory(found, "int4", 512 * 2**20, available=500_000_000)
    sources.check_memory(found, "int4", 512 * 2**20)


def test_a_format_the_device_has_not_is_refused(models_dir: Path) -> None:
    with pytest.raises(ModelError, match="allowed: int4, int8"):
        Engine.load(models_dir=models_dir, weight_format="int2")


def test_sizes_of_the_tiny_folder_are_counted_from_its_header(llama: tuple[Any, Path]) -> None:
    model, folder = llama
    weights = sum(p.numel() for p in model.parameters())
    assert sources._safetensors_elements(sources.find(str(folder))) == weights
    assert SIZES["vocab_size"] == 259
