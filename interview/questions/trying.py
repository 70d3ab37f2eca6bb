"""Trying sample answers: the run that grades them, and how far each verdict is from what its label wants."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from interview.accounts.models import User
from interview.questions.content import Content
from interview.questions.kinds import KIND
from interview.runs.models import Run
from interview.runs.services import run_create

# What each label should come out as (the same words as the bank's own samples).
WANTED = {
    "strong": ("correct",),
    "paraphrase": ("correct",),
    "partial": ("partial",),
    "weak": ("incorrect", "contradictory"),
    "contradictory": ("contradictory", "incorrect"),
    "stuffed": ("incorrect",),
    "off_topic": ("incorrect",),
}


@dataclass(frozen=True)
class Tried:
    """One sample with its verdict: `fits` says whether the label's wish came true."""

    label: str
    text: str
    verdict: str
    score: float
    states: list[tuple[int, str, str]]
    misconceptions: list[str]
    flags: list[str]
    wanted: tuple[str, ...]

    @property
    def fits(self) -> bool:
        return self.verdict in self.wanted


def samples_try(*, owner: User, content: Content) -> Run:
    """Queue the assessment of a content's samples against its own rubric. Raises QuotaExceeded."""
    return run_create(
        owner=owner,
        kind=KIND,
        input={
            "question": content.prompt,
            "rubric": content.rubric.to_dict(),
            "samples": [*content.samples, {"label": "strong", "text": content.strong}],
        },
        idempotency_key=f"samples-{uuid.uuid4().hex}",
    )


def tried_samples(run: Run) -> list[Tried]:
    """The verdicts of an ended run beside what was wanted."""
    if run.output is None:
        return []
    pairs = zip(run.input["samples"], run.output["verdicts"], strict=False)
    return [_tried(sample, verdict, run.input["rubric"]) for sample, verdict in pairs]


def _tried(sample: dict[str, str], verdict: dict[str, Any], rubric: dict[str, Any]) -> Tried:
    numbers = {point["id"]: number for number, point in enumerate(rubric["points"], start=1)}
    return Tried(
        label=sample["label"].replace("_", " "),
        text=sample["text"],
        verdict=verdict["verdict"].replace("_", " "),
        score=verdict["score"],
        states=[(numbers[point["id"]], point["state"], point["why"]) for point in verdict["points"]],
        misconceptions=[item["right"] for item in verdict["misconceptions"]],
        flags=verdict["flags"],
        wanted=WANTED[sample["label"]],
    )
