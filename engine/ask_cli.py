"""`python -m engine ask`: one question with its passages a line in, one answer or abstention a line out."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine import registry
from engine.answers import STYLES
from engine.errors import InvalidRequest
from engine.lines import each_line, text_lines
from engine.types import Passage

KEYS = ("question", "passages", "style", "seed", "id")


def main(argv: Sequence[str]) -> int:
    """Reads {"question", "passages": [{"id", "text"}]} lines; prints an answer with citations, or an abstention."""
    parser = argparse.ArgumentParser(prog="python -m engine ask", description=main.__doc__)
    parser.add_argument("--model", default=os.environ.get("ENGINE_MODEL", registry.DEFAULT_MODEL))
    parser.add_argument("--style", choices=STYLES, default="quote", help="for lines that name none")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args(argv)
    folder = Path(os.environ.get("PREFILL_MODELS_DIR", str(registry.DEFAULT_DIR)))
    for name in (options.model, "all-minilm-l6-v2"):
        registry.prepare(name, folder)
    from engine.ask import ask
    from engine.embeddings import Embedder
    from engine.llm import Engine

    embedder = Embedder.load(folder)
    with Engine.load(options.model, folder, options.threads) as engine:

        def answer(data: dict[str, Any]) -> dict[str, Any]:
            task = parse_task(data, options.style)
            return ask(engine, embedder, **task).to_dict()

        return each_line(text_lines(), answer)


def parse_task(data: Mapping[str, Any], style: str) -> dict[str, Any]:
    """The arguments of `ask` from one line. Raises `InvalidRequest`."""
    for key in data:
        if key not in KEYS:
            raise InvalidRequest("unknown_key", f"unknown key {key!r}; the keys are {', '.join(KEYS)}", key)
    seed = data.get("seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise InvalidRequest("invalid_seed", "seed is a whole number", "seed")
    return {
        "question": data.get("question"),
        "passages": passages_of(data.get("passages")),
        "style": data.get("style", style),
        "seed": seed,
    }


def passages_of(value: object) -> list[Passage]:
    """Passages from a list of {"id", "text"}. Raises `InvalidRequest`."""
    if not isinstance(value, list):
        raise InvalidRequest("invalid_passages", "passages must be a list of {id, text}", "passages")
    found = []
    for item in value:
        ok = isinstance(item, Mapping) and all(isinstance(item.get(k), str) for k in ("id", "text"))
        if not ok or set(item) != {"id", "text"}:
            raise InvalidRequest(
                "invalid_passages", "each passage has an id and a text, both text", "passages"
            )
        found.append(Passage(item["id"], item["text"]))
    return found
