"""Two runs of a pin compared: what must be equal, what may differ by noise, and which it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interview.playground.trials.checks import same
from interview.playground.trials.statistics import common_prefix, distance, noise

ALPHA = 0.05
# Above this share of answers that nobody else gave, whole answers can't be told apart by counting.
MOSTLY_UNIQUE = 0.7
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
    shared: int | None
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
    unique: float
    shared: int = 0

    @property
    def is_blind(self) -> bool:
        """Whether nearly every answer is different, so that only first words can show a change."""
        return self.unique > MOSTLY_UNIQUE

    @property
    def verdict(self) -> str:
        """noise, chance, silent or real; company where only replays parted whose equality can't be expected."""
        if self.odds < ALPHA:
            return "real" if self.parted or self.changed else "chance"
        if self.parted:
            return "silent"
        return "company" if self.shared else "noise"


def compare(first: dict[str, Any], second: dict[str, Any]) -> Comparison:
    """Compare the stored outputs of two runs of one pin."""
    rows = [_row(a, b) for a, b in zip(first["prompts"], second["prompts"], strict=True)]
    pairs = [(_texts(a), _texts(b)) for a, b in zip(first["prompts"], second["prompts"], strict=True)]
    old, new = first["machine"], second["machine"]
    return Comparison(
        rows=rows,
        odds=noise(pairs, apart),
        unique=_unique(pairs),
        parted=sum(row.parted is not None for row in rows),
        shared=sum(row.shared is not None for row in rows),
        replays=sum(len(one["replays"]) for one in first["prompts"]),
        changed=[(label, str(old[k]), str(new[k])) for k, label in MACHINE.items() if old[k] != new[k]],
    )


def apart(a: Sequence[str], b: Sequence[str]) -> float:
    """How far two sets of answers are apart: half by whole answers, half by their first words."""
    return 0.5 * distance(a, b) + 0.5 * distance([_first(text) for text in a], [_first(text) for text in b])


def _first(text: str) -> str:
    return text.partition(" ")[0]


def _unique(pairs: list[tuple[list[str], list[str]]]) -> float:
    """The share of answers that came once only."""
    counts = [Counter([*a, *b]) for a, b in pairs]
    return sum(n == 1 for one in counts for n in one.values()) / sum(sum(one.values()) for one in counts)


def _texts(one: dict[str, Any]) -> list[str]:
    return [same(text) for text in one["answers"]]


def _comparable(a: dict[str, Any], b: dict[str, Any], place: int) -> bool:
    """Whether a replay ran by itself both times and found as much in the prefix cache: then its tokens must be equal.

    Runs from before this was noted shared one batch with their trials.
    """
    then, now = (one["computed"][place] if "computed" in one else None for one in (a, b))
    return then is not None and then == now and then[0] in (None, 1)


def _row(a: dict[str, Any], b: dict[str, Any]) -> Row:
    left, right = _texts(a), _texts(b)
    points: dict[bool, list[int]] = {True: [], False: []}
    for place, (x, y) in enumerate(zip(a["replays"], b["replays"], strict=True)):
        if x != y:
            points[_comparable(a, b, place)].append(common_prefix(x, y))
    return Row(
        prompt=a["prompt"],
        parted=min(points[True], default=None),
        shared=min(points[False], default=None),
        before=Counter(left).most_common(4),
        after=Counter(right).most_common(4),
        distance=apart(left, right),
        odds=noise([(left, right)], apart),
    )
