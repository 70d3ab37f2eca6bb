"""What a class missed most, and what to show for it in the next lesson."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interview.questions.models import Question
from interview.teaching.models import Answer, AssignedQuestion, Assignment, Classroom, Membership
from interview.teaching.scoring import found_points
from interview.teaching.selectors.question_points import ruled_states

WORST = 5
MISSED = ("missing", "contradicted", "partial")


@dataclass(frozen=True)
class MissedPoint:
    """A key point with the learners who missed it."""

    question: Question
    title: str
    means: str
    n_missed: int
    n_answers: int
    items: list[AssignedQuestion] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.n_missed / self.n_answers


@dataclass(frozen=True)
class Misconception:
    """A wrong statement that several answers make."""

    title: str
    right: str
    n: int


def missed(
    classroom: Classroom, assignment: Assignment | None = None
) -> tuple[list[MissedPoint], list[Misconception]]:
    """The key points missed most by those who are in, and the commonest misconceptions; four queries.

    Every answer that was handed in and assessed counts once per learner and question: the last one.
    """
    seats = Membership.objects.filter(classroom=classroom, left__isnull=True).values("owner")
    answers = Answer.objects.filter(
        item__assignment__classroom=classroom,
        submission__submitted__isnull=False,
        submission__owner__in=seats,
        verdict__isnull=False,
    ).exclude(text="")
    if assignment is not None:
        answers = answers.filter(item__assignment=assignment)
    last: dict[tuple[int, str], tuple[Any, ...]] = {}
    for row in answers.order_by("submission__submitted").values_list(
        "submission__owner_id", "item__question_id", "item_id", "verdict", "pk"
    ):
        last[row[0], row[1]] = row
    return _ranked(list(last.values()), ruled_states(answers))


def _ranked(
    rows: list[tuple[Any, ...]], ruled: Mapping[int, Mapping[str, str]]
) -> tuple[list[MissedPoint], list[Misconception]]:
    asked: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    item_of: dict[str, int] = {}
    for _, question_id, item_id, verdict, answer_id in rows:
        item_of[question_id] = item_id
        states = {point["id"]: point["state"] for point in found_points(verdict)}
        for point, state in {**states, **ruled.get(answer_id, {})}.items():
            asked[question_id, point] += 1
            failed[question_id, point] += state in MISSED
        for shown in verdict["misconceptions"]:
            wrong[question_id, shown["right"]] += 1
    items = AssignedQuestion.objects.select_related("question", "rubric").in_bulk(item_of.values())
    means = {
        (item.question_id, point["id"]): point["means"]
        for item in items.values()
        for point in item.rubric.body["points"]
    }
    worst = sorted(
        (key for key in failed if failed[key] and key in means),
        key=lambda key: (-failed[key] / asked[key], -failed[key], key),
    )
    points = [
        MissedPoint(
            question=items[item_of[key[0]]].question,
            title=items[item_of[key[0]]].title,
            means=means[key],
            n_missed=failed[key],
            n_answers=asked[key],
        )
        for key in worst[:WORST]
    ]
    common = [Misconception(items[item_of[key[0]]].title, key[1], n) for key, n in wrong.most_common(WORST)]
    return points, common


def by_question(points: list[MissedPoint]) -> dict[str, list[MissedPoint]]:
    """The missed points of each question, in order."""
    found: dict[str, list[MissedPoint]] = defaultdict(list)
    for point in points:
        found[point.question.pk].append(point)
    return dict(found)
