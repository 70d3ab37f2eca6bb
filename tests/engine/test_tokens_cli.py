"""`python -m engine tokens`: OpenAI's encodings and the model's own tokenizer, without the site."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidRequest, ranked
from engine.encoders import ranks_of
from engine.llm import Engine

# The example of OpenAI's cookbook on counting tokens.
KNOWN = {
    "r50k_base": ("tiktoken is great!", [83, 1134, 30001, 318, 1049, 0]),
    "cl100k_base": ("tiktoken is great!", [83, 1609, 5963, 374, 2294, 0]),
    "o200k_base": ("tiktoken is great!", [83, 8251, 2488, 382, 2212, 0]),
}


def answers(models_dir: Path, *lines: Any) -> tuple[list[dict[str, Any]], int]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    done = subprocess.run(
        [sys.executable, "-m", "engine", "tokens"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PREFILL_MODELS_DIR": str(models_dir)},
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def test_a_line_each_way(models_dir: Path, engine: Engine) -> None:
    lines = [{"text": text, "encoding": name} for name, (text, _) in KNOWN.items()]
    found, status = answers(models_dir, *lines, {"text": "hello wörld"})
    assert status == 0
    assert [f["ids"] for f in found[:3]] == [ids for _, ids in KNOWN.values()]
    assert found[3]["ids"] == engine.tokenizer.encode_text("hello wörld")
    assert found[3]["count"] == len(found[3]["ids"])
    assert b"".join(bytes.fromhex(p["bytes"]) for p in found[3]["pieces"]).decode() == "hello wörld"


def test_control_tokens_by_policy_and_halves_of_characters(models_dir: Path) -> None:
    name = {"encoding": "cl100k_base"}
    found, status = answers(
        models_dir,
        {"text": "a<|endoftext|>", "special": "control", **name},
        {"text": "a<|endoftext|>", **name},
        {"text": "a<|endoftext|>", "special": "refuse", **name},
        {"text": "👩", **name},
    )
    assert status == 1
    assert found[0]["ids"] == [64, 100257] and found[0]["pieces"][1]["control"]
    assert 100257 not in found[1]["ids"]
    assert found[2]["error"]["code"] == "special_token"
    assert found[3]["count"] > 1 and all("text" not in p and p["end"] == 1 for p in found[3]["pieces"])


@pytest.mark.parametrize(
    ("line", "code", "field"),
    [
        ("no json", "malformed_line", None),
        ("[1]", "malformed_line", None),
        ({"text": 3}, "invalid_request", "text"),
        ({}, "invalid_request", "text"),
        ({"text": "x", "encoding": "p50k_base"}, "unknown_encoding", "encoding"),
        ({"text": "x", "special": "maybe", "encoding": "r50k_base"}, "invalid_request", "special"),
        ({"text": "x", "model": "y"}, "invalid_request", "model"),
    ],
)
def test_a_bad_line_says_what_is_wrong_and_the_rest_go_on(
    models_dir: Path, line: Any, code: str, field: str | None
) -> None:
    (bad, good), status = answers(models_dir, line, {"text": "", "encoding": "r50k_base"})
    assert (bad["error"]["code"], bad["error"].get("field")) == (code, field)
    assert good["count"] == 0 and status == 1


@pytest.mark.parametrize("name", list(ranked.RANKED))
@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60))
def test_ids_are_tiktokens(name: str, text: str) -> None:
    known = ranked.RANKED[name]
    reference = tiktoken.Encoding(
        name,
        pat_str=known.pattern,
        mergeable_ranks=_ranks(name),
        special_tokens=known.controls,
    )
    assert ranked.encoding(name).encode(text) == reference.encode_ordinary(text)


_KEPT: dict[str, dict[bytes, int]] = {}


def _ranks(name: str) -> dict[bytes, int]:
    known = ranked.RANKED[name]
    if name not in _KEPT:
        _KEPT[name] = ranks_of(ranked.read(known.file, known.sha256))
    return _KEPT[name]


def test_damaged_ranks_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r50k_base.tiktoken.xz").write_bytes(lzma.compress(b"IQ== 0\n"))
    monkeypatch.setattr(ranked, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"r50k_base\.tiktoken\.xz are damaged"):
        ranked.read("r50k_base.tiktoken", ranked.RANKED["r50k_base"].sha256)


def test_an_unknown_encoding_names_the_known() -> None:
    with pytest.raises(InvalidRequest, match="r50k_base, cl100k_base, o200k_base"):
        ranked.encoding("gpt2")
