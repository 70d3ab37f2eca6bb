"""Two runs of a pin compared: what must be equal, what may differ by noise, and which it was."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from interview.playground.trials.checks import same
from interview.playground.trials.statistics import common_prefix, distance, noise

ALPHA = 0.05
MACHINE = {
    "name": "model",
    "revision": "revision",
    "sha256": "model file",
    "weight_format": "weights",
    "app": "application",
    "device": "device",
    "threads": "threads",
}


@dataclass(frozen=True)
class Row:
    """One prompt in both runs."""

    prompt: str
    parted: int | None
    before: list[tuple[str, int]]
    after: list[tuple[str, int]]
    distance: float
    odds: float


@dataclass(frozen=True)
class Comparison:
    """What the two runs say."""

    rows: list[Row]
    odds: float
    parted: int
    replays: int
    changed: list[tuple[str, str, str]]

    @property
    def verdict(self) -> str:
        """noise, moved, silent or real."""
        if self.odds < ALPHA:
            return "real" if self.parted or self.changed else "chance"
        return "silent" if self.parted else "noise"


def compare(first: dict[str, Any], second: dict[str, Any]) -> Comparison:
    """Compare the stored outputs of two runs of one pin."""
    rows = [_row(a, b) for a, b in zip(first["prompts"], second["prompts"], strict=True)]
    pairs = [(_texts(a), _texts(b)) for a, b in zip(first["prompts"], second["prompts"], strict=True)]
    old, new = first["machine"], second["machine"]
    return Comparison(
        rows=rows,
        odds=noise(pairs),
        parted=sum(row.parted is not None for row in rows),
        replays=sum(len(one["replays"]) for one in first["prompts"]),
        changed=[(label, str(old[k]), str(new[k])) for k, label in MACHINE.items() if old[k] != new[k]],
    )


def _texts(one: dict[str, Any]) -> list[str]:
    return [same(text) for text in one["answers"]]


def _row(a: dict[str, Any], b: dict[str, Any]) -> Row:
    left, right = _texts(a), _texts(b)
    points = [common_prefix(x, y) for x, y in zip(a["replays"], b["replays"], strict=True) if x != y]
    return Row(
        prompt=a["prompt"],
        parted=min(points, default=None),
        before=Counter(left).most_common(4),
        after=Counter(right).most_common(4),
        distance=distance(left, right),
        odds=noise([(left, right)]),
    )
