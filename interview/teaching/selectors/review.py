"""What a teacher should look at, in an order that favours nobody."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from interview.teaching.models import Answer, Assignment, Classroom, Dispute, Membership

REASONS = {
    "disputed": "disputed",
    "not_assessed": "not assessed",
    "uncertain": "the grader is not sure",
    "": "",
}
ORDER = ("disputed", "not_assessed", "uncertain", "")


@dataclass(frozen=True)
class QueueLine:
    """An answer in the queue."""

    answer: Answer
    reason: str
    name: str
    place: int

    @property
    def words(self) -> str:
        return REASONS[self.reason]


def to_review(answers: QuerySet[Answer]) -> QuerySet[Answer]:
    """Those of the answers that are handed in and wait for a teacher; each knows whether it is disputed."""
    disputed = Exists(Dispute.objects.filter(answer=OuterRef("pk"), resolved__isnull=True))
    handed_in = answers.filter(submission__submitted__isnull=False).annotate(disputed=disputed)
    return handed_in.filter(~Q(review="") | Q(disputed=True))


def queue(
    assignment: Assignment, *, item_id: int | None = None, everything: bool = False, hide_names: bool = False
) -> list[QueueLine]:
    """Answers handed in: disputed, then not assessed, then uncertain ones; with `everything` all others after them.

    Within a question the order is random and the same every time, so that nobody is always graded last.
    """
    disputed = Exists(Dispute.objects.filter(answer=OuterRef("pk"), resolved__isnull=True))
    answers = (
        Answer.objects.filter(item__assignment=assignment, submission__submitted__isnull=False)
        .filter(submission__owner__memberships__classroom=assignment.classroom_id)
        .filter(submission__owner__memberships__left__isnull=True)
        .annotate(disputed=disputed)
        .select_related("item", "submission")
        .defer("verdict", "item__prompt", "item__strong", "submission__order", "submission__rubrics")
    )
    if item_id is not None:
        answers = answers.filter(item_id=item_id)
    if not everything:
        answers = answers.filter(~Q(review="") | Q(disputed=True))
    else:
        answers = answers.exclude(text="")
    names = _names(assignment.classroom)
    lines = []
    for answer in answers:
        reason = "disputed" if answer.disputed else answer.review
        name = "" if hide_names else names.get(answer.submission.owner_id, "")
        lines.append((answer, reason, name))
    lines.sort(key=lambda line: (ORDER.index(line[1]), line[0].item.position, _ticket(line[0])))
    return [QueueLine(*line, place) for place, line in enumerate(lines, start=1)]


def _ticket(answer: Answer) -> str:
    return hashlib.sha256(f"{answer.item_id}:{answer.submission_id}".encode()).hexdigest()


def _names(classroom: Classroom) -> dict[int, str]:
    seats = Membership.objects.filter(classroom=classroom).select_related("owner")
    return {seat.owner_id: seat.shown_name for seat in seats}
