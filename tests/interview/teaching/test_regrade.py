"""Grading a question again while the class goes on handing in: nobody is missed, nobody is left with the old rubric."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal

import pytest
from django.urls import reverse

from interview.questions.models import RubricVersion
from interview.runs.models import SUCCEEDED, Run
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import Answer, AssignedQuestion, Regrade, Submission
from interview.teaching.services.assess import answers_assessed, answers_waiting
from interview.teaching.services.grading import override_points, override_remove
from interview.teaching.services.regrade import regrade_apply, regrade_try
from interview.teaching.services.work import hand_in
from tests.interview.teaching.conftest import (
    POINTS,
    World,
    assess,
    client_of,
    handed_in,
    verdict_of,
    work_on,
)

pytestmark = pytest.mark.django_db


def first(submission: Submission) -> Answer:
    return submission.answers.select_related("item__rubric", "submission").get(item__position=1)


def edited(item: AssignedQuestion, mark: str) -> AssignedQuestion:
    body = {"points": POINTS, "misconceptions": []}
    item.question.rubric = RubricVersion.objects.create(question=item.question, hash=mark * 64, body=body)
    item.question.save(update_fields=["rubric"])
    return AssignedQuestion.objects.select_related("question__rubric").get(pk=item.pk)


def tried(world: World, item: AssignedQuestion, share: float) -> Regrade:
    """A trial that has read everything handed in so far."""
    trial = regrade_try(item=item, by=world.owner)
    assert trial.run is not None
    seen = Answer.objects.filter(item=item, submission__submitted__isnull=False)
    trial.run.output = {"verdicts": {str(row.pk): verdict_of(share) for row in seen}}
    trial.run.state = SUCCEEDED
    trial.run.save()
    return trial


def test_an_answer_handed_in_after_the_trial_gets_the_same_rubric(world: World) -> None:
    one = handed_in(world.assignment, world.learner, share=0.5)
    trial = tried(world, edited(first(one).item, "n"), 1.0)
    late = handed_in(world.assignment, world.classmate, share=0.0)
    here = [world.classroom.pk, trial.pk]
    page = client_of(world.owner).get(reverse("teaching:regrade", args=here)).content.decode()
    assert '<span class="num">1</span> more answer was handed in since' in page
    done = client_of(world.owner).post(reverse("teaching:regrade_apply", args=here), follow=True)
    assert "1 scores changed" in done.content.decode()
    assert "1 answers handed in since the trial are being graded by the same rubric" in done.content.decode()
    late.refresh_from_db()
    assert first(late).verdict is None and late.n_pending == 1
    assert list(answers_waiting(str(late.pk))) == [first(late)]
    assert first(late).item.rubric.hash == "n" * 64
    assert Run.objects.filter(kind="assess", input__submission=str(late.pk)).count() == 2
    assert assess(late, 1.0).earned == Decimal(2), "2 for this question, nothing for the two others"


def test_a_verdict_of_the_old_rubric_that_arrives_afterwards_is_not_kept(world: World) -> None:
    one = handed_in(world.assignment, world.learner, share=0.5)
    underway = hand_in(submission=work_on(world.assignment, world.classmate))
    read_before = first(underway)  # the worker holds it, with the rubric as it was
    trial = tried(world, edited(first(one).item, "n"), 1.0)
    assert trial.run is not None and trial.run.output is not None
    del trial.run.output["verdicts"][str(read_before.pk)]
    trial.run.save()
    assert regrade_apply(trial=trial).n_queued == 1
    answers_assessed([(read_before, verdict_of(0.0))])
    assert first(underway).verdict is None
    answers_assessed([(first(underway), verdict_of(1.0))])
    assert first(underway).share == 1.0


def test_a_ruling_stays_and_taking_it_back_finds_the_new_rubrics_score(world: World) -> None:
    one = handed_in(world.assignment, world.learner, share=0.5)
    trial = tried(world, edited(first(one).item, "n"), 1.0)
    late = handed_in(world.assignment, world.classmate, share=0.0)
    ruling = override_points(answer=first(late), author=world.owner, points=Decimal(1), reason="Half of it.")
    regrade_apply(trial=trial)
    assert first(late).share == 0.5
    answers_assessed([(row, verdict_of(1.0)) for row in answers_waiting(str(late.pk))])
    assert first(late).share == 0.5
    override_remove(override=ruling)
    assert first(late).share == 1.0


def test_an_older_trial_is_not_kept_over_a_later_one(world: World) -> None:
    one = handed_in(world.assignment, world.learner, share=0.5)
    older = tried(world, edited(first(one).item, "n"), 0.0)
    later = tried(world, edited(first(one).item, "o"), 1.0)
    regrade_apply(trial=later)
    with pytest.raises(TeachingRefused, match="later trial"):
        regrade_apply(trial=older)
    assert first(one).item.rubric.hash == "o" * 64 and first(one).share == 1.0


def test_a_trial_that_was_stopped_is_not_kept(world: World) -> None:
    trial = tried(world, edited(first(handed_in(world.assignment, world.learner)).item, "n"), 1.0)
    Run.objects.filter(kind="regrade").update(state="cancelled")
    with pytest.raises(TeachingRefused, match="isn’t finished"):
        regrade_apply(trial=trial)


def test_a_receipt_still_proves_what_it_proved(world: World) -> None:
    submission = handed_in(world.assignment, world.learner, share=0.5)
    address = reverse("teaching:receipt", args=[submission.pk]) + "?format=json"
    before = client_of(world.learner).get(address).json()
    regrade_apply(trial=tried(world, edited(first(submission).item, "n"), 1.0))
    after = client_of(world.learner).get(address).json()
    text = json.dumps(after["handed_in"], sort_keys=True, separators=(",", ":"))
    assert after == before and hashlib.sha256(text.encode()).hexdigest() == submission.receipt
