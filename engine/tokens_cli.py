"""`python -m engine tokens`: texts to tokens, one JSON object a line each way."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from engine import hf, ranked, registry, sources
from engine.encoding import Encoding
from engine.errors import InvalidRequest
from engine.gguf_file import read_gguf
from engine.lines import each_line, text_lines
from engine.tokenizer import ModelTokenizer, from_gguf

FIELDS = ("text", "encoding", "special")


def main(argv: Sequence[str]) -> int:
    """Answers each line {"text", "encoding"?, "special"?}; without an encoding the model's own tokenizer counts."""
    parser = argparse.ArgumentParser(prog="python -m engine tokens", description=main.__doc__)
    parser.add_argument("--model", default=os.environ.get("ENGINE_MODEL", registry.DEFAULT_MODEL))
    model: str = parser.parse_args(argv).model
    return each_line(text_lines(), lambda data: counted(data, model))


def counted(data: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The tokens of one text. Raises `InvalidRequest` for a field that is unknown, missing or of another type."""
    if unknown := sorted(set(data) - set(FIELDS)):
        raise InvalidRequest(
            "invalid_request", f"unknown field {unknown[0]!r}; known: {', '.join(FIELDS)}", unknown[0]
        )
    text, name, special = data.get("text"), data.get("encoding"), data.get("special", "text")
    for field, value in (("text", text), ("encoding", name or ""), ("special", special)):
        if not isinstance(value, str):
            raise InvalidRequest(
                "invalid_request", f"{field} is a string, not {json.dumps(value)[:40]}", field
            )
    used = ranked.encoding(name) if name else _own(model).encoding
    pieces = used.pieces(str(text), special)
    return {
        "encoding": name or model,
        "count": len(pieces),
        "ids": [p.token_id for p in pieces],
        "pieces": [_piece(used, p.token_id, p.spelled, p.start, p.end) for p in pieces],
    }


def _piece(used: Encoding, token: int, spelled: bytes, start: int, end: int) -> dict[str, Any]:
    """Bytes in hex; `text` only where the token spells whole characters."""
    found: dict[str, Any] = {"id": token, "bytes": spelled.hex(), "start": start, "end": end}
    with contextlib.suppress(UnicodeDecodeError):
        found["text"] = spelled.decode()
    if token in used.names:
        found["control"] = True
    return found


@lru_cache(maxsize=1)
def _own(model: str) -> ModelTokenizer:
    """A model's tokenizer, without its weights."""
    from engine.__main__ import models_dir, show_progress

    source = sources.find(model, models_dir(), show_progress)
    return (
        from_gguf(read_gguf(source.path).metadata)
        if source.kind == "gguf"
        else hf.load_tokenizer(source.path)
    )
