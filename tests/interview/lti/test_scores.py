"""Scores that go back: when, what exactly, and what happens while a platform doesn't answer."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from interview.lti import chores, scores
from interview.lti.models import Platform, ResourceLink, ScoreReturn
from interview.teaching.models import Answer, AssignedQuestion, Assignment, Membership, Notification
from interview.teaching.services.assignments import assignment_update, points_change
from interview.teaching.services.grading import override_points, override_remove
from tests.interview.lti.conftest import came_from
from tests.interview.lti.platform import SimulatedPlatform
from tests.interview.teaching.conftest import World, client_of, handed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def linked(world: World, platform: Platform, link: ResourceLink) -> ResourceLink:
    """Lena came from the platform; feedback is at once, so that scores may go."""
    came_from(platform, world.learner, "user-1")
    Assignment.objects.filter(pk=world.assignment.pk).update(feedback="full")
    world.assignment.refresh_from_db()
    return ResourceLink.objects.get(pk=link.pk)


def returned(moodle: SimulatedPlatform) -> list[tuple[str, float, float]]:
    scores.scores_compare()
    scores.scores_send()
    found = [(row["userId"], row["scoreGiven"], row["scoreMaximum"]) for row in moodle.scores]
    moodle.scores.clear()
    return found


def test_a_score_goes_back_as_the_standard_wants(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    submission = handed_in(world.assignment, world.learner, share=0.5)
    scores.scores_compare()
    assert scores.scores_send() == 1
    (score,) = moodle.scores
    assert (score["userId"], score["scoreGiven"], score["scoreMaximum"]) == ("user-1", 2.0, 4.0)
    assert (score["activityProgress"], score["gradingProgress"]) == ("Completed", "FullyGraded")
    assert submission.submitted is not None
    assert score["submission"] == {"submittedAt": submission.submitted.isoformat()}
    assert score["at"] == "/items/3/scores", "the query of the column's address stays behind the path"
    (assertion,) = moodle.assertions
    assert assertion["sub"] == "client-7" and assertion["exp"] - assertion["iat"] <= 120
    assert ScoreReturn.objects.get().state == "sent"


def test_nothing_goes_twice_and_every_change_goes(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    submission = handed_in(world.assignment, world.learner, share=0.5)
    assert returned(moodle) == [("user-1", 2.0, 4.0)]
    assert returned(moodle) == []
    answer = Answer.objects.select_related("item__rubric", "submission").get(
        submission=submission, item__position=1
    )
    ruling = override_points(answer=answer, author=world.teacher, points=Decimal(2), reason="x")
    assert returned(moodle) == [("user-1", 3.0, 4.0)]
    override_remove(override=ruling)
    assert returned(moodle) == [("user-1", 2.0, 4.0)]
    points_change(item=AssignedQuestion.objects.get(pk=answer.item_id), points=Decimal(4))
    assert returned(moodle) == [("user-1", 3.0, 6.0)]


def test_a_late_penalty_is_in_the_score_and_leaves_with_it(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    due = world.assignment.due
    assignment_update(assignment=world.assignment, late_until=due + timedelta(days=2), late_credit=50)
    handed_in(world.assignment, world.learner, at=due + timedelta(hours=1))
    assert returned(moodle) == [("user-1", 2.0, 4.0)]
    assignment_update(assignment=world.assignment, due=due + timedelta(days=1))
    assert returned(moodle) == [("user-1", 4.0, 4.0)]


def test_a_score_waits_until_its_learner_may_see_it(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    Assignment.objects.update(feedback="after_due")
    handed_in(world.assignment, world.learner)
    assert returned(moodle) == []
    with time_machine.travel(world.assignment.due + timedelta(seconds=2), tick=False):
        assert returned(moodle) == [("user-1", 4.0, 4.0)]


def test_a_score_that_isnt_complete_waits(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    handed_in(world.assignment, world.learner, share=None)
    assert returned(moodle) == []


def test_only_who_came_from_the_platform_and_is_in_the_class(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    handed_in(world.assignment, world.classmate)
    handed_in(world.assignment, world.learner)
    Membership.objects.filter(owner=world.learner).update(left=timezone.now())
    assert returned(moodle) == []


def test_a_platform_that_fails_is_asked_again_after_longer_and_longer(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    handed_in(world.assignment, world.learner)
    moodle.failing = (503, "Down for maintenance")
    now = timezone.now()
    waits = []
    for _ in range(4):
        with time_machine.travel(now, tick=False):
            assert returned(moodle) == []
        row = ScoreReturn.objects.get()
        waits.append((row.next_try - now).total_seconds() / 60)
        assert row.state == "waiting" and "503" in row.error and "Down for maintenance" in row.error
        with time_machine.travel(row.next_try - timedelta(seconds=1), tick=False):
            assert scores.scores_send() == 0
        now = row.next_try
    assert waits == [1, 2, 4, 8]
    moodle.failing = None
    with time_machine.travel(now, tick=False):
        assert returned(moodle) == [("user-1", 4.0, 4.0)]
    row = ScoreReturn.objects.get()
    assert (row.state, row.error) == ("sent", "")


def test_after_many_tries_the_teachers_are_told_and_can_try_again(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    handed_in(world.assignment, world.learner)
    moodle.failing = (403, "<b>No</b>")
    scores.scores_compare()
    for _ in range(scores.TRIES):
        ScoreReturn.objects.update(next_try=timezone.now())
        scores.scores_send()
    assert ScoreReturn.objects.get().state == "failed"
    told = set(Notification.objects.filter(key__startswith="lti-").values_list("owner", flat=True))
    assert told == {world.owner.pk, world.teacher.pk, world.assistant.pk}
    client = client_of(world.teacher)
    page = client.get(reverse("lti:course", args=[world.classroom.pk])).content.decode()
    assert (
        "given up after 12 tries" in page and "Lena" in page and "&lt;b&gt;No" in page and "<b>No" not in page
    )
    moodle.failing = None
    client.post(reverse("lti:scores_again", args=[world.classroom.pk, linked.pk]))
    assert returned(moodle) == [("user-1", 4.0, 4.0)]


def test_a_refused_signature_is_told(world: World, moodle: SimulatedPlatform, linked: ResourceLink) -> None:
    moodle.tool_keys = lambda: {"keys": []}
    handed_in(world.assignment, world.learner)
    assert returned(moodle) == []
    assert "invalid_client" in ScoreReturn.objects.get().error


def test_a_missing_column_is_made_once(world: World, moodle: SimulatedPlatform, linked: ResourceLink) -> None:
    ResourceLink.objects.update(line_item="")
    handed_in(world.assignment, world.learner)
    assert returned(moodle) == [("user-1", 4.0, 4.0)]
    (column,) = moodle.columns
    assert (column["label"], column["scoreMaximum"], column["resourceLinkId"]) == ("Week one", 4.0, "link-3")
    Assignment.objects.update(feedback="points")
    ResourceLink.objects.update(line_item="")
    ScoreReturn.objects.all().delete()
    assert returned(moodle) == [("user-1", 4.0, 4.0)] and len(moodle.columns) == 1


def test_a_score_never_goes_to_a_host_nobody_allowed(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    ResourceLink.objects.update(line_item="http://localhost:1/items/3")
    handed_in(world.assignment, world.learner)
    assert returned(moodle) == [] and "LTI_HOSTS" in ScoreReturn.objects.get().error


def test_a_link_without_the_right_takes_no_scores(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink
) -> None:
    ResourceLink.objects.update(scopes=[])
    handed_in(world.assignment, world.learner)
    assert returned(moodle) == [] and not ScoreReturn.objects.exists()


def test_a_score_that_changes_while_it_is_sent_goes_again(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink, monkeypatch: Any
) -> None:
    handed_in(world.assignment, world.learner, share=0.5)
    scores.scores_compare()
    row = ScoreReturn.objects.get()
    ScoreReturn.objects.update(points=3)
    scores._arrived(row)
    assert ScoreReturn.objects.get().state == "waiting"


def test_the_chore_finds_what_is_due(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink, monkeypatch: Any, settings: Any
) -> None:
    from interview.lti.tasks import scores_send

    handed_in(world.assignment, world.learner)
    monkeypatch.setattr(scores_send, "delay", scores_send)  # the message's worker is this process
    chores.scores_return()
    assert [row["userId"] for row in moodle.scores] == ["user-1"]
    settings.LTI_HOSTS = []
    points_change(item=world.assignment.questions.get(position=1), points=Decimal(9))
    chores.scores_return()
    assert len(moodle.scores) == 1, "off means off"


def test_queries_do_not_grow_with_the_class(
    world: World, moodle: SimulatedPlatform, linked: ResourceLink, django_assert_num_queries: Any
) -> None:
    handed_in(world.assignment, world.learner)
    handed_in(world.assignment, world.classmate)
    scores.scores_compare()
    with django_assert_num_queries(7):
        assert scores.scores_compare() == 0
