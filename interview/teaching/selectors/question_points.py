"""How each key point of an assignment went: met, partly, missed, over the counted attempts that are assessed."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from django.db.models import QuerySet

from interview.teaching.models import Answer, AssignedQuestion, Override
from interview.teaching.scoring import found_points
from interview.teaching.selectors.gradebook import ItemStatistics, Matrix, item_statistics


@dataclass
class PointCount:
    """A key point with how many answers have it in each state."""

    means: str
    optional: bool
    met: int = 0
    partial: int = 0
    missed: int = 0

    @property
    def n(self) -> int:
        return self.met + self.partial + self.missed

    @property
    def share_missed(self) -> float:
        return self.missed / self.n if self.n else 0.0


@dataclass
class QuestionPoints:
    """A question's points in the rubric's order, and the misconceptions seen, the commonest first."""

    statistics: ItemStatistics
    points: list[PointCount]
    misconceptions: list[tuple[str, int]] = field(default_factory=list)
    n: int = 0


def ruled_states(answers: QuerySet[Answer]) -> dict[int, dict[str, str]]:
    """A teacher's words on single points, by answer; they count instead of the grader's."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    rulings = Override.objects.filter(answer__in=answers.values("pk"), removed__isnull=True).exclude(point="")
    for answer, point, state in rulings.order_by("created", "id").values_list("answer_id", "point", "state"):
        found[answer][point] = state
    return found


def question_points(book: Matrix) -> list[QuestionPoints]:
    """One for each question of the assignment; two queries beside the gradebook's own."""
    counts = {item.pk: _points(item) for item in book.items}
    wrong: dict[int, Counter[str]] = defaultdict(Counter)
    answered: Counter[int] = Counter()
    counted = [row.score.submission.pk for row in book.rows if row.score]
    answers = Answer.objects.filter(submission__in=counted, verdict__isnull=False).exclude(text="")
    ruled = ruled_states(answers)
    for pk, item_id, verdict in answers.values_list("pk", "item_id", "verdict"):
        assert verdict is not None
        states = {point["id"]: point["state"] for point in found_points(verdict)} | ruled.get(pk, {})
        if not states:  # nobody assessed it
            continue
        answered[item_id] += 1
        for key, point in counts[item_id].items():
            _count(point, states.get(key))
        wrong[item_id].update({shown["right"] for shown in verdict["misconceptions"]})
    return [
        QuestionPoints(statistics, list(counts[pk].values()), wrong[pk].most_common(), answered[pk])
        for statistics in item_statistics(book)
        if (pk := statistics.item.pk)
    ]


def _points(item: AssignedQuestion) -> dict[str, PointCount]:
    return {
        point["id"]: PointCount(point["means"], point.get("optional", False))
        for point in item.rubric.body["points"]
    }


def _count(point: PointCount, state: str | None) -> None:
    if state == "met":
        point.met += 1
    elif state == "partial":
        point.partial += 1
    elif state is not None:
        point.missed += 1
