"""Reads of progress: the heat map, one question's history with what changed, misconceptions and what became of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import SequenceMatcher
from itertools import pairwise

from django.db.models import Count, Max

from interview.accounts.models import User
from interview.practice.models import Attempt
from interview.practice.scheduling import GOOD, HARD
from interview.practice.selectors import WORDS, point_views
from interview.questions.models import LEVELS, Question, Topic
from interview.questions.selectors import BANK, SERVED

HISTORY = 30  # answers to one question that are set side by side
DIFF_WORDS = 3_000  # longer answers are compared sentence by sentence
PIECES = re.compile(r"\S+\s*|\s+")  # a word with the space after it, so that spaces alone never match
SENTENCES = re.compile(r"[^.!?\n]+[.!?\n]*\s*|[.!?\n]+\s*")


@dataclass(frozen=True)
class Cell:
    """One topic at one level: how many questions there are and were answered, and the mean of their last scores."""

    n_questions: int
    n_answered: int
    score: float | None

    @property
    def state(self) -> str:
        if self.score is None:
            return "none"
        return "met" if self.score >= GOOD else "partial" if self.score >= HARD else "contradicted"


@dataclass(frozen=True)
class HeatRow:
    """A topic with a cell for every level."""

    topic: Topic
    cells: list[Cell]


def heat_map(owner: User) -> list[HeatRow]:
    """The bank's topics by level, each with the mean of the last scores of the owner's answers."""
    last = dict(_assessed(owner).order_by("created").values_list("question_id", "score"))
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for pk, topic, level in Question.objects.filter(SERVED & BANK).values_list("pk", "topic_id", "level"):
        groups[topic, level].append(pk)
    topics = Topic.objects.filter(SERVED).order_by("order", "id")
    return [HeatRow(topic, [_cell(groups[topic.pk, level], last) for level, _ in LEVELS]) for topic in topics]


def _assessed(owner: User):  # type: ignore[no-untyped-def]
    return Attempt.objects.filter(owner=owner, parent__isnull=True, score__isnull=False)


def _cell(questions: Sequence[str], last: dict[str, float]) -> Cell:
    scores = [last[question] for question in questions if question in last]
    return Cell(len(questions), len(scores), sum(scores) / len(scores) if scores else None)


@dataclass(frozen=True)
class Answered:
    """A question with how often it was answered, and the first and the last score."""

    question: Question
    n_attempts: int
    first: float | None
    last: float | None
    when: datetime

    @property
    def change(self) -> float:
        return (self.last or 0.0) - (self.first or 0.0)


def answered_list(owner: User, limit: int = 50) -> list[Answered]:
    """Questions by the last answer, newest first."""
    whole = Attempt.objects.filter(owner=owner, parent__isnull=True)
    groups = list(
        whole.values("question_id").annotate(n=Count("pk"), when=Max("created")).order_by("-when")[:limit]
    )
    ids = [group["question_id"] for group in groups]
    questions = Question.objects.select_related("topic").in_bulk(ids)
    scores: dict[str, list[float]] = defaultdict(list)
    for question, score in _assessed(owner).filter(question_id__in=ids).order_by("created").values_list("question_id", "score"):  # fmt: skip
        scores[question].append(score)
    return [
        Answered(
            questions[group["question_id"]],
            group["n"],
            scores[group["question_id"]][0] if scores[group["question_id"]] else None,
            scores[group["question_id"]][-1] if scores[group["question_id"]] else None,
            group["when"],
        )
        for group in groups
    ]


@dataclass(frozen=True)
class Change:
    """A stretch of an answer beside the one before: same, added or gone."""

    kind: str
    text: str


@dataclass(frozen=True)
class PointChange:
    """A point whose state is another than in the answer before."""

    number: int
    means: str
    before: str
    after: str
    state: str


@dataclass(frozen=True)
class Compared:
    """An attempt beside the one before it."""

    attempt: Attempt
    changes: list[Change] = field(default_factory=list)
    points: list[PointChange] = field(default_factory=list)
    same_rubric: bool = True


def history(owner: User, question: Question) -> list[Compared]:
    """The owner's last answers to a question, newest first, each with what changed since the one before."""
    related = Attempt.objects.select_related("rubric", "run", "dispute")
    whole = related.filter(owner=owner, question=question, parent__isnull=True).order_by("-created")
    attempts = list(whole[: HISTORY + 1])[::-1]
    compared = [Compared(attempt) for attempt in attempts[:1]]
    for before, after in pairwise(attempts):
        same = before.rubric_id == after.rubric_id
        points = point_changes(before, after) if same else []
        compared.append(Compared(after, word_changes(before.text, after.text), points, same))
    return compared[::-1][:HISTORY]


def word_changes(before: str, after: str) -> list[Change]:
    """What was added and what is gone, word by word; joined they give both texts back."""
    pieces = PIECES if max(len(before.split()), len(after.split())) <= DIFF_WORDS else SENTENCES
    old, new = pieces.findall(before), pieces.findall(after)
    return list(_changes(old, new))


def _changes(old: list[str], new: list[str]) -> Iterator[Change]:
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=len(old) > 400).get_opcodes():
        if kind == "equal":
            yield Change("same", "".join(old[i:j]))
            continue
        if i < j:
            yield Change("gone", "".join(old[i:j]))
        if k < m:
            yield Change("added", "".join(new[k:m]))


def point_changes(before: Attempt, after: Attempt) -> list[PointChange]:
    """Points of the same rubric whose state changed."""
    was = {point.id: point.state for point in point_views(before)}
    return [
        PointChange(point.number, point.means, WORDS[was[point.id]], point.word, point.state)
        for point in point_views(after)
        if point.id in was and was[point.id] != point.state
    ]


@dataclass(frozen=True)
class Belief:
    """A misconception that an answer showed, and whether a later answer to that question was free of it."""

    question_id: str
    title: str
    right: str
    shown: datetime
    corrected: datetime | None


def beliefs(owner: User) -> list[Belief]:
    """Misconceptions shown, those still standing first, then by when they were last shown."""
    attempts = Attempt.objects.filter(owner=owner, verdict__isnull=False).order_by("created")
    rows = attempts.values_list(
        "question_id",
        "question__title",
        "parent_id",
        "created",
        "verdict__misconceptions",
        "verdict__verdict",
    )
    found: dict[tuple[str, str], Belief] = {}
    for question, title, parent, created, wrong, verdict in rows.iterator():
        shown = {item["id"]: item["right"] for item in wrong or []}
        if parent is None and verdict != "not_assessed":
            for (of, name), belief in list(found.items()):
                if of == question and name not in shown and belief.corrected is None:
                    found[of, name] = Belief(question, title, belief.right, belief.shown, created)
        for name, right in shown.items():
            found[question, name] = Belief(question, title, right, created, None)
    return sorted(
        found.values(), key=lambda belief: (belief.corrected is not None, -belief.shown.timestamp())
    )
