"""Key points and strong answers reach a learner when the policy allows, in no format before."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from interview.teaching.models import AFTER_DUE, FULL, POINTS, Assignment, Submission
from interview.teaching.selectors.assignments import feedback_level, window_for
from interview.teaching.services.assignments import extension_give
from tests.interview.teaching.conftest import World, assign, client_of, handed_in

pytestmark = pytest.mark.django_db
SECRETS = ("STRONG", "The cache grows with every token.", "WHY grows")


def pages(client: Client, submission: Submission) -> str:
    """Everything a learner can fetch about an attempt, in every format."""
    assignment = submission.assignment
    run = submission.run
    assert run is not None
    addresses = [
        reverse("teaching:result", args=[submission.pk]),
        reverse("teaching:receipt", args=[submission.pk]),
        reverse("teaching:receipt", args=[submission.pk]) + "?format=json",
        reverse("teaching:assignment", args=[assignment.classroom_id, assignment.pk]),
        reverse("teaching:class_page", args=[assignment.classroom_id]),
        reverse("runs:run", args=[run.pk]),
        reverse("runs:trace", args=[run.pk]),
        f"/api/v1/runs/{run.pk}",
        f"/api/v1/runs/{run.pk}/trace",
    ]
    return "\n".join(client.get(address).content.decode() for address in addresses)


@pytest.mark.parametrize(
    ("feedback", "attempts", "when", "level"),
    [
        (AFTER_DUE, 1, "before", ""),
        (AFTER_DUE, 1, "late", "full"),
        (AFTER_DUE, 2, "late", "points"),
        (AFTER_DUE, None, "late", "points"),
        (AFTER_DUE, 2, "closed", "full"),
        (POINTS, 1, "before", "points"),
        (POINTS, 1, "late", "full"),
        (POINTS, 2, "late", "points"),
        (POINTS, 2, "closed", "full"),
        (FULL, 2, "before", "full"),
    ],
)
def test_levels(world: World, feedback: str, attempts: int | None, when: str, level: str) -> None:
    assignment = assign(
        world.classroom,
        world.question_set,
        feedback=feedback,
        attempts=attempts,
        late_until=timezone.now() + timedelta(days=9),
    )
    window = window_for(assignment, world.learner)
    now = {
        "before": window.due - timedelta(seconds=1),
        "late": window.due + timedelta(seconds=1),
        "closed": window.closes + timedelta(seconds=1),
    }[when]
    assert feedback_level(assignment, window, 1, now) == level


@pytest.mark.parametrize(("feedback", "sees_points"), [(AFTER_DUE, False), (POINTS, True)])
def test_nothing_secret_before_it_is_due(world: World, feedback: str, sees_points: bool) -> None:
    Assignment.objects.update(feedback=feedback)
    world.assignment.refresh_from_db()
    submission = handed_in(world.assignment, world.learner)
    client = client_of(world.learner)
    text = pages(client, submission)
    assert not [secret for secret in SECRETS if secret in text]
    assert ("of 4 points" in text) == sees_points
    with time_machine.travel(world.assignment.due + timedelta(seconds=1), tick=False):
        text = pages(client, submission)
    assert all(secret in text for secret in SECRETS)


def test_an_extension_keeps_the_feedback_closed_for_its_learner(world: World) -> None:
    submission = handed_in(world.assignment, world.learner)
    later = world.assignment.due + timedelta(days=3)
    extension_give(assignment=world.assignment, learner=world.learner, due=later)
    with time_machine.travel(world.assignment.due + timedelta(days=1), tick=False):
        assert "Feedback comes later" in pages(client_of(world.learner), submission)
    with time_machine.travel(later + timedelta(seconds=1), tick=False):
        assert "STRONG" in pages(client_of(world.learner), submission)


def test_an_answer_is_inert_where_it_is_shown(world: World) -> None:
    Assignment.objects.update(feedback=FULL)
    world.assignment.refresh_from_db()
    submission = handed_in(world.assignment, world.learner)
    submission.answers.update(text="<img src=x onerror=alert(1)> <div>")
    page = client_of(world.learner).get(reverse("teaching:result", args=[submission.pk])).content.decode()
    assert "<img src=x" not in page and "&lt;" in page
