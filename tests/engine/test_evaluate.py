"""`python -m engine evaluate`: the dispatcher and the evaluation of schemas, with the real model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine import evaluate
from engine.errors import InvalidRequest
from engine.evaluate_schemas import read

REFUND = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "reason": {"enum": ["late", "broken"]}},
    "required": ["order", "reason"],
    "additionalProperties": False,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    good, bad = {"order": 17, "reason": "late"}, {"order": "17", "reason": "late"}
    tests = [{"valid": True, "data": good}, {"valid": False, "data": bad}]
    (tmp_path / "refund.json").write_text(json.dumps({"schema": REFUND, "tests": tests}))
    (tmp_path / "set.json").write_text(
        json.dumps({"schema": {"type": "array", "uniqueItems": True}, "tests": []})
    )
    (tmp_path / "INDEX.json").write_text("{}")
    return tmp_path


def test_schemas_are_compiled_or_refused_and_their_masks_tried(
    folder: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("PREFILL_MODELS_DIR", str(models_dir))
    argv = ["schemas", "--data", str(folder), "--json", "--samples", "2", "--tokens", "64"]
    assert evaluate.main(argv) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_schemas"], found["compiled"]) == (2, 1)
    assert (found["valid"], found["valid_admitted"], found["invalid"], found["invalid_admitted"]) == (
        1,
        1,
        1,
        0,
    )
    assert found["false_valid"] == 0
    refund, unique = found["schemas"]
    assert sum(refund["written"].values()) == 2 and refund["written"]["refused"] == 0
    assert "uniqueItems" in unique["refusal"]


def test_an_unknown_evaluation_lists_those_there_are(capsys: Any) -> None:
    assert evaluate.main(["cooking"]) == 2
    assert "schemas" in capsys.readouterr().err
    assert evaluate.main([]) == 2


def test_a_folder_without_schemas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="holds no file"):
        read(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(InvalidRequest, match=r"broken\.json"):
        read(tmp_path)
