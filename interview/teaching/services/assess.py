"""Keeping automatic verdicts: written once per grading, never over a teacher's word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from interview.runs.models import Run
from interview.runs.services import run_create
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import Answer, Override, Submission
from interview.teaching.scoring import Ruling, share_of, still_to_review
from interview.teaching.services.totals import answers_lock, totals_update
from interview.teaching.services.work import KIND


@transaction.atomic
def answers_assessed(found: Sequence[tuple[Answer, Mapping[str, Any]]]) -> None:
    """Keep verdicts and what follows from them, in one write: a class that hands in at once waits for the writers."""
    rulings: dict[int, list[Ruling]] = defaultdict(list)
    answers_lock([answer.pk for answer, _ in found])
    found = _of_the_pinned_rubric(found)
    active = Override.objects.filter(answer__in=[answer.pk for answer, _ in found], removed__isnull=True)
    for row in active.order_by("created", "id"):
        rulings[row.answer_id].append(Ruling(row.point, row.state, row.share))
    for answer, verdict in found:
        mine = rulings[answer.pk]
        answer.verdict, answer.grader, answer.graded = verdict, verdict["grader"], timezone.now()
        answer.share = share_of(verdict, answer.item.rubric.body, mine)
        answer.review = still_to_review(verdict, answer.share, mine)
    Answer.objects.bulk_update(
        [answer for answer, _ in found], ["verdict", "grader", "graded", "share", "review"]
    )


def _of_the_pinned_rubric(
    found: Sequence[tuple[Answer, Mapping[str, Any]]],
) -> list[tuple[Answer, Mapping[str, Any]]]:
    """Without verdicts whose rubric was replaced by a kept regrade meanwhile: those answers are queued for the new one."""
    pinned = dict(
        Answer.objects.filter(pk__in=[answer.pk for answer, _ in found]).values_list("pk", "item__rubric")
    )
    return [(answer, verdict) for answer, verdict in found if pinned.get(answer.pk) == answer.item.rubric_id]


def answers_waiting(submission_id: str) -> QuerySet[Answer]:
    """What the grader has not seen yet: everything written, a teacher's ruling or not (taking it back needs a verdict)."""
    waiting = Answer.objects.filter(submission_id=submission_id, verdict__isnull=True)
    return waiting.filter(Q(share__isnull=True) | Q(overridden=True)).select_related("item__rubric")


def submission_ended(run: Run) -> None:
    """The grading run of a submission ended, well or not: sum up, and put what has no score before a teacher."""
    rows = Submission.objects.filter(pk=run.input["submission"])
    Answer.objects.filter(submission__in=rows, share__isnull=True, verdict__isnull=True).update(
        review="not_assessed"
    )
    totals_update(rows)


@transaction.atomic
def submission_assess(*, submission: Submission) -> None:
    """Queue the assessment again when its run failed or was cancelled. Raises TeachingRefused while one is under way."""
    if submission.submitted is None:
        raise TeachingRefused("This attempt isn’t handed in yet.")
    if submission.run is not None and not submission.run.ended:
        raise TeachingRefused("The assessment is under way.")
    assess_queue(submission)


def assess_queue(submission: Submission) -> None:
    """Queue whatever of a submission has no verdict."""
    submission.run = run_create(
        owner=submission.owner,
        kind=KIND,
        input={"submission": str(submission.pk)},
        idempotency_key=f"assess-{submission.pk}-{timezone.now().timestamp()}",
    )
    submission.save(update_fields=["run"])
