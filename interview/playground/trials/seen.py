"""Trials as the page shows them: answers with counts, shares with intervals, where outputs part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interview.playground.trials.checks import same
from interview.playground.trials.statistics import (
    Interval,
    agreement,
    difference,
    mean,
    parting_points,
    resampled,
    wilson,
)
from interview.runs.models import Run

SHOWN_ANSWERS = 8
OFF = {"top_p": 1, "top_k": 0, "min_p": 0}


@dataclass(frozen=True)
class Answer:
    """A distinct answer: how often it came, and whether it is valid."""

    text: str
    count: int
    share: float
    valid: bool | None


@dataclass(frozen=True)
class Setting:
    """One setting's trials."""

    name: str
    trials: int
    answers: list[Answer]
    more: int
    distinct: int
    top: Interval
    agreement: float
    length: Interval
    shortest: int
    longest: int
    valid: Interval | None
    against_first: Interval | None
    parting: dict[str, Any] | None
    median_parting: int | None
    cut: int


def name_of(setting: dict[str, Any]) -> str:
    """A setting in words."""
    full = {"temperature": 0, **OFF, **setting}
    if full["temperature"] == 0:
        return "greedy (T 0)"
    used = [f"{name.replace('_', '-')} {full[name]:g}" for name, off in OFF.items() if full[name] != off]
    return ", ".join([f"T {full['temperature']:g}", *used])


def shown(run: Run, given: Mapping[str, str], address: str) -> tuple[str, dict[str, Any]]:
    """The part of the page that whoever has the link reads."""
    return "playground/_trials.html", {"settings": settings_seen(run.input, run.output or {})}


def settings_seen(body: dict[str, Any], output: dict[str, Any]) -> list[Setting]:
    """Every setting of a run, in order."""
    first = _valid_count(output["settings"][0])
    return [
        _seen(setting, found, first if place else None)
        for place, (setting, found) in enumerate(zip(body["settings"], output["settings"], strict=True))
    ]


def _valid_count(found: dict[str, Any]) -> tuple[int, int] | None:
    states = [answer["valid"] for answer in found["answers"]]
    return None if states[0] is None else (sum(states), len(states))


def _seen(setting: dict[str, Any], found: dict[str, Any], first: tuple[int, int] | None) -> Setting:
    rows = found["answers"]
    texts = [same(row["text"]) for row in rows]
    counts = Counter(texts).most_common()
    states = {same(row["text"]): row["valid"] for row in rows}
    lengths = [float(len(row["tokens"])) for row in rows]
    points = parting_points([row["tokens"] for row in rows])
    mine = _valid_count(found)
    return Setting(
        name=name_of(setting),
        trials=len(rows),
        answers=[Answer(t, n, n / len(rows), states[t]) for t, n in counts[:SHOWN_ANSWERS]],
        more=max(0, len(counts) - SHOWN_ANSWERS),
        distinct=len(counts),
        top=wilson(counts[0][1], len(rows)),
        agreement=agreement(texts),
        length=resampled(lengths, mean),
        shortest=int(min(lengths)),
        longest=int(max(lengths)),
        valid=wilson(*mine) if mine else None,
        against_first=difference(first, mine) if first and mine else None,
        parting=found["parting"],
        median_parting=points[len(points) // 2] if points else None,
        cut=sum(row["finish"] == "length" for row in rows),
    )
