"""A class that is archived while people are working: what they wrote is handed in as it stands, and nothing after it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from interview.teaching.errors import TeachingRefused
from interview.teaching.models import Answer, Notification, Submission
from interview.teaching.selectors.gradebook import course
from interview.teaching.services.classes import class_archive, class_reopen
from interview.teaching.services.work import attempt_start
from tests.interview.teaching.conftest import World, client_of, work_on

pytestmark = pytest.mark.django_db


def archive(world: World) -> str:
    address = reverse("teaching:class_archive", args=[world.classroom.pk])
    return client_of(world.owner).post(address, follow=True).content.decode()


def save(client: Client, submission: Submission, text: str) -> Any:
    address = reverse("teaching:work_save", args=[submission.pk, 1])
    return client.post(address, {"text": text, "go": "2"})


def test_work_in_progress_is_handed_in_as_it_stands_and_everybody_is_told(world: World) -> None:
    submission = work_on(world.assignment, world.learner, "As far as I came.")
    settings = client_of(world.owner).get(reverse("teaching:class_edit", args=[world.classroom.pk]))
    assert '<span class="num">1</span> attempt in progress is handed in' in settings.content.decode()
    assert "1 attempt in progress was handed in as it stood." in archive(world)
    submission.refresh_from_db()
    assert submission.automatic and submission.receipt and submission.run is not None
    assert submission.submitted is not None and submission.submitted <= timezone.now()
    told = Notification.objects.get(owner=world.learner, key=f"archived-{submission.pk}")
    page = client_of(world.learner).get(told.path).content.decode()
    assert "The class was archived, so what you had written" in page and "In time" in page
    assert "As far as I came." in page


def test_what_is_sent_after_it_comes_back_with_the_moment(world: World) -> None:
    submission = work_on(world.assignment, world.learner, "Saved.")
    archive(world)
    late = save(client_of(world.learner), submission, "Typed a moment too late.")
    assert late.status_code == 409 and "Typed a moment too late." in late.content.decode()
    draft = client_of(world.learner).post(
        reverse("teaching:answer_draft", args=[submission.pk, 1]), {"text": "later", "revision": 9}
    )
    assert draft.status_code == 422 and draft.json()["code"] == "closed"
    assert set(Answer.objects.filter(submission=submission).values_list("text", flat=True)) == {"Saved."}


def test_nobody_starts_and_nobody_missed_it(world: World) -> None:
    archive(world)
    world.assignment.classroom.refresh_from_db()
    with pytest.raises(TeachingRefused, match="archived"):
        attempt_start(assignment=world.assignment, learner=world.learner)
    args = [world.classroom.pk, world.assignment.pk]
    page = client_of(world.learner).get(reverse("teaching:assignment", args=args)).content.decode()
    assert "The class was archived on" in page and "missed" not in page
    with time_machine.travel(world.assignment.due + timedelta(days=9), tick=False):
        world.classroom.refresh_from_db()
        _, rows = course(world.classroom)
        assert {row.possible for row in rows} == {0}, "what nobody could hand in counts against nobody"


def test_an_attempt_that_no_page_saw_is_closed_by_the_clock_too(world: World) -> None:
    """The class is archived by a program that knows nothing of attempts."""
    submission = work_on(world.assignment, world.learner)
    world.classroom.archived = timezone.now()
    world.classroom.save(update_fields=["archived"])
    assert save(client_of(world.learner), submission, "x").status_code == 409
    submission.refresh_from_db()
    assert submission.submitted == world.classroom.archived


def test_open_again_the_dates_hold_as_before(world: World) -> None:
    class_archive(classroom=world.classroom)
    class_reopen(classroom=world.classroom)
    assert attempt_start(assignment=world.assignment, learner=world.learner).submitted is None
