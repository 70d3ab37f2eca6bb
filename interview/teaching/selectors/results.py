"""What a learner may see of an assessed attempt. Key points leave through here and nowhere else."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

from interview.practice.selectors import WORDS, Piece, answer_pieces
from interview.teaching.models import Answer, Dispute, Override, Submission
from interview.teaching.scoring import found_points, why_not_assessed
from interview.teaching.selectors.assignments import feedback_level, score_of, window_for


@dataclass(frozen=True)
class PointLine:
    """A key point with its state."""

    number: int
    id: str
    means: str
    state: str
    why: str

    @property
    def word(self) -> str:
        return WORDS[self.state]


@dataclass(frozen=True)
class AnswerView:
    """An answer with what was found in it."""

    answer: Answer
    points: list[PointLine]
    pieces: list[Piece]
    misconceptions: list[dict[str, Any]]
    rulings: list[Override] = field(default_factory=list)
    disputes: list[Dispute] = field(default_factory=list)
    refusal: str = ""

    @property
    def may_dispute(self) -> bool:
        """Whether the learner may object now: something was written, and nothing is open."""
        return bool(self.answer.text) and all(row.resolved is not None for row in self.disputes)

    @property
    def earned(self) -> Any:
        """Points earned, or None while nobody has assessed it."""
        item = self.answer.item
        if item.everybody:
            return item.points
        return None if self.answer.share is None else float(item.points) * self.answer.share


def answer_view(answer: Answer, states: dict[str, str] | None = None) -> AnswerView:
    """An answer joined with the rubric it is held against; `states` are a teacher's words on points."""
    verdict = answer.verdict or {"points": [], "misconceptions": []}
    found = {point["id"]: point for point in found_points(answer.verdict)}
    ruled = states or {}
    lines, numbered = [], []
    for number, point in enumerate(answer.item.rubric.body["points"], start=1):
        graded = found.get(point["id"])
        state = ruled.get(point["id"]) or (graded["state"] if graded else "")
        if not state:
            continue
        why = "" if point["id"] in ruled or graded is None else graded["why"]
        lines.append(PointLine(number, point["id"], point["means"], state, why))
        if graded is not None:
            numbered.append({**graded, "number": number, "state": state})
    pieces, refusal = answer_pieces(answer.text, numbered), why_not_assessed(answer.verdict)
    return AnswerView(answer, lines, pieces, verdict["misconceptions"], refusal=refusal)


def released(submission: Submission) -> dict[str, Any]:
    """The context of a learner's result page: the level, and only what that level allows."""
    assignment = submission.assignment
    window = window_for(assignment, submission.owner)
    handed_in = Submission.objects.filter(
        assignment=assignment, owner=submission.owner, submitted__isnull=False
    ).count()
    level = feedback_level(assignment, window, handed_in)
    context: dict[str, Any] = {
        "submission": submission,
        "level": level,
        "window": window,
        "none_left": window.attempts is not None and handed_in >= window.attempts,
    }
    if not level:
        return context
    rows = list(submission.answers.select_related("item__rubric").order_by("item__position"))
    place = {pk: index for index, pk in enumerate(submission.order)}
    rows.sort(key=lambda answer: place.get(answer.item_id, len(place)))
    context["score"] = score_of(submission, window)
    context["total"] = sum(row.item.points for row in rows)
    rulings: dict[int, list[Override]] = defaultdict(list)
    for ruling in Override.objects.filter(answer__in=rows, removed__isnull=True):
        rulings[ruling.answer_id].append(ruling)
    disputes: dict[int, list[Dispute]] = defaultdict(list)
    for dispute in Dispute.objects.filter(answer__in=rows):
        disputes[dispute.answer_id].append(dispute)
    views = []
    for row in rows:
        states = {ruling.point: ruling.state for ruling in rulings[row.pk] if ruling.point}
        shown = answer_view(row, states) if level == "full" else AnswerView(row, [], [Piece(row.text)], [])
        views.append(replace(shown, rulings=rulings[row.pk], disputes=disputes[row.pk]))
    context["views"] = views
    return context
