"""Reads of practice, and the one place that decides what a learner may see of a rubric."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from django.db.models import QuerySet

from interview.accounts.models import User
from interview.practice.models import Attempt, Draft, ReviewCard
from interview.questions.models import Question

STATES = ("met", "partial", "missing", "contradicted")
NOTES = {
    "empty": "There was nothing to assess.",
    "restates_question": "This mostly repeats the question. Words of the question earn nothing.",
    "keyword_list": "This is a list of terms. Say how they hang together, in sentences.",
    "needs_review": "The grader is not sure about a part of this. Compare it with the strong answer yourself.",
    "identical_to_reference": "This is the strong answer word for word. It counts, but it trains nothing.",
    "not_english": "Only answers in English can be assessed so far. Your answer is kept.",
    "too_long": "This is longer than the grader reads. Nothing was cut: shorten it and submit again.",
}
WORDS = {"met": "Met", "partial": "Partly there", "missing": "Missing", "contradicted": "Contradicted"}


def draft_get(owner: User | None, question: Question) -> Draft | None:
    """The owner's draft for a question."""
    return Draft.objects.filter(owner=owner, question=question).first() if owner else None


def attempt_get(attempt_id: uuid.UUID, owner: User | None) -> Attempt | None:
    """An attempt of this owner, with what its page needs, or None."""
    if owner is None:
        return None
    related = Attempt.objects.select_related("question__topic", "rubric", "run", "parent")
    answers = ("probe_attempts__run", "probe_attempts__rubric")
    return related.prefetch_related(*answers).filter(pk=attempt_id, owner=owner).first()


def attempt_list(owner: User | None) -> QuerySet[Attempt]:
    """The owner's attempts at whole questions, newest first."""
    attempts = Attempt.objects.select_related("question__topic", "run").filter(parent__isnull=True)
    return attempts.filter(owner=owner) if owner else attempts.none()


def draft_list(owner: User | None) -> QuerySet[Draft]:
    """Drafts with text in them, the last touched first."""
    drafts = Draft.objects.select_related("question").exclude(text="").order_by("-updated")
    return drafts.filter(owner=owner) if owner else drafts.none()


def card_get(owner: User, question: Question) -> ReviewCard | None:
    """The owner's review card for a question."""
    return ReviewCard.objects.filter(owner=owner, question=question).first()


@dataclass(frozen=True)
class PointView:
    """A key point beside the learner's words, numbered from 1."""

    number: int
    id: str
    means: str
    state: str
    why: str
    quote: str
    weight: float

    @property
    def word(self) -> str:
        return WORDS[self.state]


@dataclass(frozen=True)
class Piece:
    """A stretch of the answer: plain, or evidence for some points."""

    text: str
    numbers: tuple[int, ...] = ()
    state: str = ""
    point: str = ""


@dataclass(frozen=True)
class ProbeView:
    """A follow-up question with the learner's answer to it, if any."""

    index: int
    ask: str
    point: str
    answers: list[Attempt] = field(default_factory=list)


@dataclass(frozen=True)
class VerdictView:
    """Everything the verdict page shows."""

    verdict: str
    score: float
    points: list[PointView]
    pieces: list[Piece]
    misconceptions: list[dict[str, Any]]
    flags: list[str]
    notes: list[str]
    n_met: int
    probe: ProbeView | None
    answered_probes: list[ProbeView]


def verdict_view(attempt: Attempt) -> VerdictView | None:
    """The verdict of a graded attempt, joined with the rubric it was held against."""
    verdict = attempt.verdict
    if verdict is None:
        return None
    points = point_views(attempt)
    probes = probe_views(attempt)
    return VerdictView(
        verdict=verdict["verdict"],
        score=verdict["score"],
        points=points,
        pieces=answer_pieces(attempt.text, _numbered(attempt)),
        misconceptions=verdict["misconceptions"],
        flags=verdict["flags"],
        notes=[NOTES[flag] for flag in verdict["flags"] if flag in NOTES],
        n_met=sum(point.state == "met" for point in points),
        probe=_next_probe(points, probes),
        answered_probes=[probe for probe in probes if probe.answers],
    )


def _numbered(attempt: Attempt) -> list[dict[str, Any]]:
    """The graded points with their number in the rubric (a probe is graded on a part of it)."""
    numbers = {point["id"]: number for number, point in enumerate(attempt.rubric.body["points"], start=1)}
    graded = (attempt.verdict or {})["points"]
    return [{**point, "number": numbers[point["id"]]} for point in graded if point["id"] in numbers]


def point_views(attempt: Attempt) -> list[PointView]:
    """The points of the attempt's rubric version with their states."""
    graded = {point["id"]: point for point in (attempt.verdict or {}).get("points", [])}
    views = []
    for number, point in enumerate(attempt.rubric.body["points"], start=1):
        state = graded.get(point["id"])
        if state is None:
            continue
        span = state["evidence"]
        views.append(
            PointView(
                number=number,
                id=point["id"],
                means=point["means"],
                state=state["state"],
                why=state["why"],
                quote=attempt.text[span[0] : span[1]] if span else "",
                weight=point.get("weight", 1),
            )
        )
    return views


def answer_pieces(text: str, points: Iterable[dict[str, Any]]) -> list[Piece]:
    """Cut the answer at every border of evidence, so that overlapping evidence nests in no wrong way."""
    spans = [(p["number"], p["id"], *p["evidence"], p["state"]) for p in points if p["evidence"]]
    ends = {border for _, _, start, end, _ in spans for border in (start, end) if 0 <= border <= len(text)}
    pieces = []
    for start, end in pairwise(sorted({0, len(text)} | ends)):
        over = [span for span in spans if span[2] <= start and end <= span[3]]
        if not over:
            pieces.append(Piece(text[start:end]))
            continue
        worst = max(over, key=lambda span: STATES.index(span[4]))
        closing = tuple(span[0] for span in over if span[3] == end)
        pieces.append(Piece(text[start:end], closing, worst[4], worst[1]))
    return pieces


def probe_views(attempt: Attempt) -> list[ProbeView]:
    """The question's probes with the learner's answers to each, the first answer first."""
    answers = sorted(attempt.probe_attempts.all(), key=lambda answer: answer.created)
    return [
        ProbeView(
            index, probe["ask"], probe["point"], [answer for answer in answers if answer.probe == index]
        )
        for index, probe in enumerate(attempt.question.probes)
    ]


def _next_probe(points: list[PointView], probes: list[ProbeView]) -> ProbeView | None:
    """The first unanswered probe of the worst point: contradicted before missing before partial."""
    worst_first = sorted(
        (point for point in points if point.state != "met"), key=lambda p: (-STATES.index(p.state), -p.weight)
    )
    for point in worst_first:
        for probe in probes:
            if probe.point == point.id and not probe.answers:
                return probe
    return None
