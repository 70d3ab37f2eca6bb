"""Grading one question again: first on trial, then for good. A teacher's rulings stay as they are."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.plain_text import is_blank
from interview.runs.models import SUCCEEDED
from interview.runs.services import run_create
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import Answer, AssignedQuestion, Regrade, Submission
from interview.teaching.scoring import review_reason
from interview.teaching.services.assess import assess_queue
from interview.teaching.services.grading import answers_recount

KIND = "regrade"


@transaction.atomic
def regrade_try(*, item: AssignedQuestion, by: User) -> Regrade:
    """Queue a trial against the question's current rubric; nothing changes yet. Raises TeachingRefused."""
    rubric = item.question.rubric
    if rubric is None:
        raise TeachingRefused("This question has no rubric any more.")
    if not Answer.objects.filter(item=item, submission__submitted__isnull=False).exists():
        raise TeachingRefused("Nobody has handed in an answer to this question yet.")
    trial = Regrade.objects.create(item=item, rubric=rubric)
    trial.run = run_create(
        owner=by,
        kind=KIND,
        input={"regrade": trial.pk},
        idempotency_key=f"regrade-{trial.pk}",
    )
    trial.save(update_fields=["run"])
    return trial


@dataclass(frozen=True)
class Applied:
    """What keeping a trial did: scores that changed, and answers that the new rubric is yet to be asked about."""

    n_changed: int
    n_queued: int


@transaction.atomic
def regrade_apply(*, trial: Regrade) -> Applied:
    """Keep the trial's verdicts and pin the rubric they were held against. Raises TeachingRefused.

    Answers handed in since the trial are queued for the same rubric, so that nobody is left with the old one.
    """
    trial = (
        Regrade.objects.select_for_update(of=("self",))
        .select_related("run", "rubric__question")
        .get(pk=trial.pk)
    )
    _may_apply(trial)
    assert trial.run is not None and trial.run.output is not None
    verdicts = trial.run.output["verdicts"]
    before = dict(Answer.objects.filter(item=trial.item_id).values_list("pk", "share"))
    strong = trial.rubric.question.strong
    AssignedQuestion.objects.filter(pk=trial.item_id).update(rubric=trial.rubric, strong=strong)
    answers = list(Answer.objects.filter(item=trial.item_id, pk__in=[int(pk) for pk in verdicts]))
    for answer in answers:
        verdict = verdicts[str(answer.pk)]
        answer.verdict, answer.grader = verdict, verdict["grader"]
        answer.graded, answer.review = timezone.now(), review_reason(verdict)
    Answer.objects.bulk_update(answers, ["verdict", "grader", "graded", "review"], batch_size=500)
    answers_recount([answer.pk for answer in answers])
    n_queued = _queue_the_others(trial)
    Regrade.objects.filter(pk=trial.pk).update(applied=timezone.now())
    after = dict(Answer.objects.filter(item=trial.item_id).values_list("pk", "share"))
    return Applied(sum(after[pk] != before[pk] for pk in after if str(pk) in verdicts), n_queued)


def _may_apply(trial: Regrade) -> None:
    if trial.run is None or trial.run.output is None or trial.run.state != SUCCEEDED:
        raise TeachingRefused("The trial isn’t finished.")
    if trial.applied is not None:
        raise TeachingRefused("This trial was applied already.")
    later = Regrade.objects.filter(item=trial.item_id, applied__isnull=False, created__gt=trial.created)
    if later.exists():
        raise TeachingRefused(
            "A later trial of this question was kept already. Start another to change its scores."
        )


def since_trial(trial: Regrade) -> list[Answer]:
    """Answers that were handed in after the trial had read the others."""
    if trial.run is None or trial.run.output is None:
        return []
    known = [int(pk) for pk in trial.run.output["verdicts"]]
    others = Answer.objects.filter(item=trial.item_id, submission__submitted__isnull=False).exclude(
        pk__in=known
    )
    return [row for row in others.select_related("submission") if not is_blank(row.text)]


def _queue_the_others(trial: Regrade) -> int:
    rows = since_trial(trial)
    ids = [row.pk for row in rows]
    Answer.objects.filter(pk__in=ids).update(verdict=None, grader="", graded=None)
    answers_recount(ids)
    Answer.objects.filter(pk__in=ids).update(review="")  # the grader is asked first
    for submission in Submission.objects.filter(pk__in={row.submission_id for row in rows}).select_related(
        "owner"
    ):
        assess_queue(submission)
    return len(rows)
