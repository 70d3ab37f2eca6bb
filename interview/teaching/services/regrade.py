"""Grading one question again: first on trial, then for good. A teacher's rulings stay as they are."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.runs.services import run_create
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import Answer, AssignedQuestion, Regrade
from interview.teaching.scoring import review_reason
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


@transaction.atomic
def regrade_apply(*, trial: Regrade) -> int:
    """Keep the trial's verdicts and pin the rubric they were held against. How many scores changed.

    Answers handed in since the trial are not in it; they keep theirs until the next. Raises TeachingRefused.
    """
    run = trial.run
    if run is None or run.output is None:
        raise TeachingRefused("The trial isn’t finished.")
    if trial.applied is not None:
        raise TeachingRefused("This trial was applied already.")
    verdicts = run.output["verdicts"]
    before = dict(Answer.objects.filter(item=trial.item).values_list("pk", "share"))
    question = trial.rubric.question
    AssignedQuestion.objects.filter(pk=trial.item_id).update(rubric=trial.rubric, strong=question.strong)
    answers = list(Answer.objects.filter(item=trial.item, pk__in=[int(pk) for pk in verdicts]))
    for answer in answers:
        verdict = verdicts[str(answer.pk)]
        answer.verdict, answer.grader = verdict, verdict["grader"]
        answer.graded, answer.review = timezone.now(), review_reason(verdict)
    Answer.objects.bulk_update(answers, ["verdict", "grader", "graded", "review"], batch_size=500)
    answers_recount([answer.pk for answer in answers])
    Regrade.objects.filter(pk=trial.pk).update(applied=timezone.now())
    after = dict(Answer.objects.filter(item=trial.item).values_list("pk", "share"))
    return sum(after[pk] != before[pk] for pk in after)
