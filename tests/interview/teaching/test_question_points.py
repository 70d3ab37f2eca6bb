"""How each key point went: counts by hand, a teacher's word instead of the grader's, misconceptions with their n."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from interview.teaching.models import Answer, Assignment, Membership
from interview.teaching.selectors.gradebook import matrix
from interview.teaching.selectors.insight import missed
from interview.teaching.selectors.question_points import QuestionPoints, question_points
from interview.teaching.services.grading import override_point, override_remove
from tests.interview.teaching.conftest import World, assess, client_of, handed_in

pytestmark = pytest.mark.django_db
FLAT = {"id": "flat", "right": "Every token adds keys and values.", "evidence": [0, 4], "why": ""}


def first(world: World) -> QuestionPoints:
    return question_points(matrix(world.assignment))[0]


def counts(line: QuestionPoints) -> list[tuple[int, int, int]]:
    return [(point.met, point.partial, point.missed) for point in line.points]


def answer_of(world: World, user: Any) -> Answer:
    answers = Answer.objects.select_related("item__rubric", "submission")
    return answers.get(submission__owner=user, item__position=1)


def test_counts_by_hand(world: World) -> None:
    handed_in(world.assignment, world.learner, share=1.0)
    handed_in(world.assignment, world.classmate, share=0.5)
    line = first(world)
    assert (line.n, counts(line)) == (2, [(1, 1, 0), (1, 1, 0)])
    Membership.objects.filter(owner=world.classmate).update(left=timezone.now())
    assert (first(world).n, counts(first(world))) == (1, [(1, 0, 0), (1, 0, 0)]), "who left isn't counted"


def test_what_nobody_assessed_isnt_counted(world: World) -> None:
    handed_in(world.assignment, world.learner, share=None)
    assert (first(world).n, counts(first(world))) == (0, [(0, 0, 0), (0, 0, 0)])


def test_an_answer_the_grader_refused_misses_nothing(world: World) -> None:
    """Its verdict names every point as missing, with why it could not be read."""
    Assignment.objects.update(feedback="full")
    submission = handed_in(world.assignment, world.learner, share=None)
    assess(submission, 0, flags=("not_english",), label="not_assessed")
    answer = answer_of(world, world.learner)
    assert (first(world).n, counts(first(world))) == (0, [(0, 0, 0), (0, 0, 0)])
    assert missed(world.classroom) == ([], [])
    shown = {
        "result": client_of(world.learner).get(reverse("teaching:result", args=[submission.pk])),
        "answer": client_of(world.owner).get(
            reverse("teaching:answer", args=[world.classroom.pk, answer.pk])
        ),
    }
    for page in shown.values():
        assert "WHY grows" in page.content.decode() and 'class="state">Missing' not in page.content.decode()
    override_point(answer=answer, author=world.teacher, point="grows", state="met", reason="Read in French.")
    assert counts(first(world)) == [(1, 0, 0), (0, 0, 0)]


def test_a_teachers_word_counts_instead(world: World) -> None:
    handed_in(world.assignment, world.learner, share=1.0)
    answer = answer_of(world, world.learner)
    ruling = override_point(answer=answer, author=world.teacher, point="grows", state="missing", reason="x")
    assert counts(first(world)) == [(0, 0, 1), (1, 0, 0)]
    points, _ = missed(world.classroom)
    assert [(point.means, point.n_missed) for point in points] == [("The cache grows with every token.", 1)]
    override_remove(override=ruling)
    assert counts(first(world))[0] == (1, 0, 0) and missed(world.classroom)[0] == []


def test_misconceptions_with_their_n(world: World) -> None:
    for user in (world.learner, world.classmate):
        handed_in(world.assignment, user, share=0.0)
    answer = answer_of(world, world.learner)
    assert answer.verdict is not None
    Answer.objects.filter(pk=answer.pk).update(verdict={**answer.verdict, "misconceptions": [FLAT, FLAT]})
    assert first(world).misconceptions == [("Every token adds keys and values.", 1)]
    address = reverse("teaching:question_points", args=[world.classroom.pk, world.assignment.pk])
    page = client_of(world.assistant).get(address).content.decode()
    assert "Every token adds keys and values." in page and ">2</td>" in page


def test_queries_do_not_grow(world: World, django_assert_max_num_queries: Any) -> None:
    for user in (world.learner, world.classmate):
        handed_in(world.assignment, user)
    address = reverse("teaching:question_points", args=[world.classroom.pk, world.assignment.pk])
    client = client_of(world.owner)
    with django_assert_max_num_queries(13):
        client.get(address)
