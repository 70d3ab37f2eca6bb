"""`python -m engine grade`: one JSON object a line in, one verdict a line out."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from engine import registry
from engine.errors import InvalidRequest
from engine.grading import Grader
from engine.lines import parsed, text_lines
from engine.rubric import Rubric, RubricError

if TYPE_CHECKING:
    from engine.embeddings import Embedder

KEYS = ("question", "answer", "reference", "rubric", "id")


def run_grade_lines(stdin: Iterable[str], stdout: TextIO) -> int:
    """Grade every line; a bad line yields its error and the rest go on; the status is 1 when any was bad."""
    grader: Grader | None = None
    status = 0
    for line in stdin:
        if not line.strip():
            continue
        try:
            task = parse_task(line)
            grader = grader or load_grader()
            found = grader.grade(**task).to_dict()
        except (InvalidRequest, RubricError) as error:
            found, status = {"error": {"code": error.code, "message": error.message}}, 1
        print(json.dumps(found, ensure_ascii=False), file=stdout, flush=True)
    return status


def load_grader() -> Grader:
    """The grader with the embedding model that `load_embedder` loads."""
    return Grader(load_embedder())


def load_embedder() -> Embedder:
    """The embedding model of PREFILL_MODELS_DIR (or var/models), prepared when it is missing."""
    from engine.embeddings import MODEL_NAME, Embedder

    folder = Path(os.environ.get("PREFILL_MODELS_DIR", str(registry.DEFAULT_DIR)))
    registry.prepare(MODEL_NAME, folder)
    return Embedder.load(folder)


def parse_task(line: str) -> dict[str, Any]:
    """The arguments of Grader.grade from one line; raises InvalidRequest or RubricError."""
    data = parsed(line)
    if not isinstance(data, Mapping):
        raise InvalidRequest("malformed_line", "each line is one JSON object")
    for key in data:
        if key not in KEYS:
            raise InvalidRequest("unknown_key", f"unknown key {key!r}; the keys are {', '.join(KEYS)}")
    task: dict[str, Any] = {key: _text(data, key) for key in ("question", "answer")}
    if data.get("rubric") is not None:
        task["rubric"] = Rubric.from_dict(data["rubric"])
    if data.get("reference") is not None:
        task["reference"] = _references(data["reference"])
    if "rubric" not in task and not any(text.strip() for text in task.get("reference", ())):
        raise InvalidRequest("nothing_to_grade_by", "a rubric or a reference answer is needed")
    return task


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise InvalidRequest("invalid_field", f"{key}: text is wanted, got {type(value).__name__}")
    return value


def _references(value: object) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidRequest("invalid_field", "reference: text, or a list of alternative texts, is wanted")
    return texts


def main(argv: Sequence[str]) -> int:
    """Grade the lines of standard input; there are no options."""
    argparse.ArgumentParser(prog="python -m engine grade", description=main.__doc__).parse_args(argv)
    return run_grade_lines(text_lines(), sys.stdout)
