"""Two traces side by side: every field of both, and which of them differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from interview.runs.replay import Difference, first_difference, hashes_agree, is_hidden, token_rows

JSON = dict[str, Any]
# Compared as tokens, or repeated elsewhere.
LEFT_OUT = {"per_token", "tokens", "token_ids", "steps", "prompt", "logprobs", "format", "kept"}
SHOWN = 2_000


@dataclass(frozen=True)
class Row:
    """A field with its value in each trace; empty where a trace hasn't got it."""

    name: str
    a: str
    b: str

    @property
    def differs(self) -> bool:
        return self.a != self.b


@dataclass(frozen=True)
class Comparison:
    """What differs between two traces, and what is the same.

    `hidden` is set where a trace keeps no texts; `agree` says of the tokens what can be said, None where nothing can.
    """

    different: list[Row]
    same: list[Row]
    tokens: Difference | None
    counts: tuple[int, int]
    hidden: bool = False
    agree: bool | None = None


def compare(a: JSON, b: JSON) -> Comparison:
    """Every field of both traces, the differing ones first."""
    left, right = dict(flat(a)), dict(flat(b))
    names = list(dict.fromkeys([*left, *right]))
    rows = [Row(name, left.get(name, ""), right.get(name, "")) for name in names]
    tokens, counts = (
        first_difference(with_kept(a), with_kept(b)),
        tuple(sum(map(len, token_rows(one))) for one in (a, b)),
    )
    hidden = is_hidden(a) or is_hidden(b)
    return Comparison(
        different=[row for row in rows if row.differs],
        same=[row for row in rows if not row.differs],
        tokens=None if hidden else tokens,
        counts=(counts[0], counts[1]),
        hidden=hidden,
        agree=hashes_agree(a, b) if hidden else (tokens is None if any(counts) else None),
    )


def with_kept(trace: JSON) -> JSON:
    """A fork's tokens with those it kept of an earlier answer before them: where it parts from that answer."""
    kept = ((trace.get("request") or {}).get("fork") or {}).get("kept") or []
    rows = trace.get("per_token")
    if not kept or not isinstance(rows, list):
        return trace
    return {"per_token": [*([None, *one] for one in kept), *rows]}


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, text) of every leaf; short lists of plain values stay one field."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            if key not in LEFT_OUT:
                yield from flat(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        for index, part in enumerate(value):
            yield from flat(part, f"{path}[{index}]")
    else:
        yield path, _text(value)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text):,} characters)"
