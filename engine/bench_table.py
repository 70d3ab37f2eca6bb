"""The benchmark's saved results as the table of docs/engine.md, beside what was wanted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import InvalidRequest

PEERS = ("transformers", "llama.cpp")
# Ratio wanted against each peer.
RATIOS: dict[str, tuple[float | None, float | None]] = {
    "decode": (2.5, 1.0),
    "ttft_50": (1.2, 2.5),
    "prefill_1024": (1.0, 2.5),
    "total_16": (1.5, 3.0),
}
LEAST = {"speculation_gain": 1.5}
MOST = {"constraint_extra": 5.0, "load_warm": 2.0, "memory": 1000.0}
NAMES = {
    "decode": "decode, one stream",
    "weights_read": "weights that a token reads",
    "memory_bandwidth": "what this machine reads",
    "bandwidth_used": "share of that which decoding uses",
    "constraint_free": "decode, free",
    "constraint_json": "decode under a JSON schema",
    "constraint_extra": "more time a token under the schema",
    "prefix_cold": "first token, 1,024-token prompt",
    "prefix_hit": "the same prompt again",
    "prefix_gain": "gain by the prefix cache",
    "speculation_off": "quote-heavy prompt without drafts",
    "speculation_on": "the same with drafts",
    "speculation_gain": "gain by drafts",
    "speculation_accepted": "drafted tokens that were right",
    "load_cold": "load, first time",
    "load_warm": "load, from then on",
    "import": "import",
    "memory": "memory of a process that generates",
}


def read(paths: Sequence[Path]) -> dict[str, Any]:
    """Results of one or more runs as one: later runs add measures. Raises `InvalidRequest` for a file without any."""
    found: dict[str, Any] = {"about": [], "measures": {}}
    for path in paths:
        try:
            for run in _runs(json.loads(path.read_text())):
                found["about"].append(run["about"])
                found["measures"] |= run["measures"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{path} holds no results of `bench --json`: {error!r}"
            raise InvalidRequest("invalid_data", message, "saved") from error
    return found


def _runs(data: Any) -> list[Any]:
    return data if isinstance(data, list) else [data]


def markdown(found: dict[str, Any]) -> str:
    """One row a measure: the figure, each peer's with the ratio, and what was wanted."""
    lines = ["| measure | engine | transformers | llama.cpp | wanted |", "|---|---|---|---|---|"]
    for name, entry in found["measures"].items():
        cells = [_peer(entry, peer) for peer in PEERS]
        lines.append(
            f"| {_name(name)} | {_value(entry['value'], entry['unit'])} | {' | '.join(cells)} | {_wanted(name, entry)} |"
        )
    return "\n".join(lines)


def _name(name: str) -> str:
    kind, _, rest = name.partition("_")
    made = {
        "ttft": f"first token, prompt of {rest}",
        "prefill": f"prefill of {rest}",
        "total": f"total of {rest} at once",
        "kl": f"KL divergence from bf16, {rest}",
        "top1": f"same first choice as bf16, {rest}",
    }
    return NAMES.get(name) or made[kind]


def _value(value: float, unit: str) -> str:
    digits = 4 if value < 0.01 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f} {unit}"


def _peer(entry: dict[str, Any], peer: str) -> str:
    if peer not in entry.get("peers", {}):
        return ""
    number = _value(entry["peers"][peer], "").strip()
    return f"{number}, **{entry['ratio'][peer]:.2f}×**"


def _wanted(name: str, entry: dict[str, Any]) -> str:
    """The target and whether it is reached."""
    if name in RATIOS:
        pairs = [(entry.get("ratio", {}).get(p), w) for p, w in zip(PEERS, RATIOS[name], strict=True)]
        return ", ".join(f"{w}× {_state(r is not None and r >= w)}" for r, w in pairs if w is not None)
    if name in LEAST:
        return f"{LEAST[name]} {_state(entry['value'] >= LEAST[name])}"
    if name in MOST:
        return f"≤ {MOST[name]:g} {_state(entry['value'] <= MOST[name])}"
    return ""


def _state(reached: bool) -> str:
    return "reached" if reached else "**missed**"
