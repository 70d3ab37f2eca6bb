"""The worker's part of an assignment, with the real grader: each text is graded once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings

from engine.embeddings import Embedder
from engine.grading import Grader
from engine.verdict import Verdict
from interview.questions.models import RubricVersion
from interview.runs.kinds import Job
from interview.teaching.kinds import assess
from interview.teaching.models import Answer, AssignedQuestion, Submission
from interview.teaching.services.work import hand_in
from tests.interview.teaching.conftest import World, work_on

pytestmark = pytest.mark.django_db
RIGHT = "The cache grows with every token. Each step reads the whole cache."


class Counting(Grader):
    """The grader, and how often it was asked."""

    n = 0

    def grade(self, **asked: Any) -> Verdict:
        self.n += 1
        return super().grade(**asked)


@pytest.fixture(scope="module")
def grader() -> Counting:
    return Counting(Embedder.load(Path(settings.MODELS_DIR)))


def worked(submission: Submission, grader: Grader) -> None:
    """What the worker does with a submission."""
    assert submission.run is not None
    models: Any = SimpleNamespace(grader=grader)
    assess(Job(run=submission.run, models=models, emit=lambda kind, data: None))


def test_equal_answers_are_graded_once_and_each_has_its_verdict(world: World, grader: Counting) -> None:
    one = hand_in(submission=work_on(world.assignment, world.learner, RIGHT))
    two = hand_in(submission=work_on(world.assignment, world.classmate, RIGHT))
    before = grader.n
    worked(one, grader)
    worked(two, grader)
    assert grader.n - before == 3, "three questions, whoever answers them"
    verdicts = list(Answer.objects.order_by("item", "submission").values_list("item", "share", "verdict"))
    assert verdicts[0::2] == verdicts[1::2] and all(share == 1.0 for _, share, _ in verdicts)


def test_another_rubric_or_another_word_is_graded_anew(world: World, grader: Counting) -> None:
    worked(hand_in(submission=work_on(world.assignment, world.learner, RIGHT + " Yes.")), grader)
    item = AssignedQuestion.objects.select_related("rubric")[0]
    item.rubric = RubricVersion.objects.create(question=item.question, hash="e" * 64, body=item.rubric.body)
    item.save()
    before = grader.n
    worked(hand_in(submission=work_on(world.assignment, world.classmate, RIGHT + " Yes.")), grader)
    assert grader.n - before == 1
