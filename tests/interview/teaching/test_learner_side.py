"""The learner's dashboard, calendar and letters; insight and the follow-up set; personal data."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from icalendar import Calendar

from interview.accounts import mail as letters
from interview.accounts.services import account_delete
from interview.runs.models import Run
from interview.teaching.models import (
    AccessEntry,
    Assignment,
    Membership,
    Notification,
    QuestionSet,
    Submission,
)
from interview.teaching.selectors.insight import missed
from interview.teaching.selectors.sets import set_items
from interview.teaching.services import notices
from interview.teaching.services.assignments import extension_give
from interview.teaching.services.classes import class_archive, class_update
from interview.teaching.services.grading import override_points
from interview.teaching.services.notices import choice_of
from interview.teaching.services.retention import retention_apply
from tests.interview.teaching.conftest import World, assign, client_of, handed_in, work_on

pytestmark = pytest.mark.django_db


def test_the_dashboard_is_by_due_date_in_ones_own_zone(world: World) -> None:
    due = timezone.now().replace(hour=22, minute=30, second=0, microsecond=0) + timedelta(days=3)
    assign(world.classroom, world.question_set, title="Sooner", due=due)
    world.learner.time_zone = "Asia/Tokyo"
    world.learner.save()
    text = client_of(world.learner).get(reverse("teaching:due")).content.decode()
    assert text.index("Sooner") < text.index("Week one")
    assert "07:30 JST" in text and "Serving models" in text


def test_the_calendar_is_read_whatever_is_in_a_title(world: World) -> None:
    title = 'KV; cache, 50\\% "now"\nBEGIN:VEVENT\r\nSUMMARY:x 🙂 ' + "ä" * 60
    Assignment.objects.update(title=title)
    answer = Client().get(reverse("teaching:calendar", args=[choice_of(world.learner).feed_key]))
    assert all(len(line) <= 75 for line in answer.content.split(b"\r\n"))
    (event,) = Calendar.from_ical(answer.content).walk("VEVENT")
    assert str(event["SUMMARY"]).split() == f"Due: {title} (Serving models)".split()


def test_the_calendar_follows_the_extension_and_its_key(world: World) -> None:
    later = world.assignment.due.replace(microsecond=0) + timedelta(days=2)
    extension_give(assignment=world.assignment, learner=world.learner, due=later)
    key = notices.choice_of(world.learner).feed_key
    answer = Client().get(reverse("teaching:calendar", args=[key]))
    assert answer["Content-Type"].startswith("text/calendar")
    (event,) = Calendar.from_ical(answer.content).walk("VEVENT")
    ends: Any = event["dtend"]
    assert ends.dt == later and "Week one" in str(event["summary"])
    client_of(world.learner).post(reverse("teaching:notice_choice"), {"renew": "1"})
    assert Client().get(reverse("teaching:calendar", args=[key])).status_code == 404


@pytest.fixture
def sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letters, "send_soon", lambda letter: letter.send())


@pytest.mark.usefixtures("sent_at_once")
def test_one_letter_a_day_with_what_is_new_and_a_way_out(world: World) -> None:
    notices.assignments_announce()
    notices.assignments_announce()
    assert Notification.objects.filter(owner=world.learner).count() == 1
    assert notices.digests_send() == 2 and notices.digests_send() == 0
    letter = next(letter for letter in mail.outbox if letter.to == [world.learner.email])
    assert "New in Serving models: Week one" in letter.body
    address = letter.extra_headers["List-Unsubscribe"].strip("<>").partition("8000")[
        2
    ] or letter.extra_headers["List-Unsubscribe"].strip("<>")
    address = address[address.index("/notifications/") :]
    assert Client().get(address).status_code == 200  # looking is not leaving
    assert notices.choice_of(world.learner).digest
    assert Client().post(address, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert not notices.choice_of(world.learner).digest
    assert Client().post(reverse("teaching:unsubscribe", args=["x:y"])).status_code == 404
    with time_machine.travel(world.assignment.due - timedelta(hours=5), tick=False):
        notices.assignments_announce()
        assert notices.digests_send() == 1  # Milo's only


def test_who_handed_in_is_not_reminded(world: World) -> None:
    handed_in(world.assignment, world.learner)
    with time_machine.travel(world.assignment.due - timedelta(hours=5), tick=False):
        notices.assignments_announce()
    due = Notification.objects.filter(text__startswith="Due within a day")
    assert [row.owner for row in due] == [world.classmate]


def test_who_is_in_the_middle_of_another_attempt_is_reminded(world: World) -> None:
    assignment = assign(world.classroom, world.question_set, title="Twice", attempts=2)
    handed_in(assignment, world.learner)
    work_on(assignment, world.learner)
    with time_machine.travel(assignment.due - timedelta(hours=5), tick=False):
        notices.assignments_announce()
    due = Notification.objects.filter(text="Due within a day: Twice")
    assert {row.owner for row in due} == {world.learner, world.classmate}


@pytest.mark.parametrize(
    ("feedback", "told_at_once", "told_after"),
    [
        ("after_due", set(), {"Your feedback"}),
        ("points", {"Your points"}, {"Your points", "Your feedback"}),
        ("full", {"Your feedback"}, {"Your feedback"}),
    ],
)
def test_feedback_is_told_when_it_may_be_seen(
    world: World, feedback: str, told_at_once: set[str], told_after: set[str]
) -> None:
    Assignment.objects.update(feedback=feedback)
    handed_in(world.assignment, world.learner)
    handed_in(world.assignment, world.classmate, share=None)  # not assessed yet: there is nothing to see

    def told() -> set[str]:
        notices.assignments_announce()
        notices.assignments_announce()
        rows = Notification.objects.filter(text__startswith="Your ")
        assert {row.owner for row in rows} <= {world.learner} and rows.count() == len({r.text for r in rows})
        return {row.text.removesuffix(" for Week one") for row in rows}

    assert told() == told_at_once
    with time_machine.travel(world.assignment.due + timedelta(seconds=2), tick=False):
        assert told() == told_after


def test_the_most_missed_points_lead_to_a_set(world: World) -> None:
    handed_in(world.assignment, world.learner, share=0.0)
    handed_in(world.assignment, world.classmate, share=1.0)
    points, _ = missed(world.classroom)
    assert len(points) == 5 and {(point.n_missed, point.n_answers) for point in points} == {(1, 2)}
    page = (
        client_of(world.assistant)
        .get(reverse("teaching:insight", args=[world.classroom.pk]))
        .content.decode()
    )
    assert "The cache grows with every token." in page
    assert "/calculators/kv-cache/?tokens=1000" in page and "/playground/generate/" in page
    client_of(world.teacher).post(reverse("teaching:follow_up", args=[world.classroom.pk]))
    made = QuestionSet.objects.get(owner=world.teacher)
    sections = {item.section for item in set_items(made)}
    assert "Once more" in sections and made.items.count() >= 3


def test_nothing_missed_makes_no_set(world: World) -> None:
    client_of(world.teacher).post(reverse("teaching:follow_up", args=[world.classroom.pk]))
    assert not QuestionSet.objects.filter(owner=world.teacher).exists()


def own_file(world: World) -> str:
    args = [world.classroom.pk, world.seat(world.learner).pk]
    return client_of(world.learner).get(reverse("teaching:learner_export", args=args)).content.decode()


def test_a_learners_own_file_keeps_to_the_policy(world: World) -> None:
    submission = handed_in(world.assignment, world.learner, share=0.5)
    text = own_file(world)
    assert "Some words." in text and "WHY grows" not in text and '"share"' not in text
    with time_machine.travel(world.assignment.due + timedelta(seconds=1), tick=False):
        text = own_file(world)
    assert "WHY grows" in text
    answer = submission.answers.select_related("item__rubric", "submission")[0]
    override_points(answer=answer, author=world.owner, points=Decimal(1), reason="Because.")
    with time_machine.travel(world.assignment.due + timedelta(seconds=1), tick=False):
        assert json.loads(own_file(world))["attempts"][0]["answers"]


def test_the_account_export_keeps_to_the_policy(world: World) -> None:
    handed_in(world.assignment, world.learner)
    client = client_of(world.learner)
    with pytest.warns(Warning, match="asynchronous iterators"):
        body = b"".join(client.get(reverse("accounts:export"))).decode()
    assert "Some words." in body and "WHY grows" not in body


def test_one_learners_answers_are_deleted_on_request(world: World) -> None:
    handed_in(world.assignment, world.learner)
    handed_in(world.assignment, world.classmate)
    address = reverse("teaching:learner_delete", args=[world.classroom.pk, world.seat(world.learner).pk])
    client_of(world.owner).post(address, {"confirm": "wrong"})
    assert Submission.objects.count() == 2
    client_of(world.owner).post(address, {"confirm": "Lena"})
    assert Submission.objects.get().owner == world.classmate
    assert Run.objects.filter(kind="assess").count() == 1
    assert Membership.objects.filter(owner=world.learner, left=None).exists()


def test_a_teachers_export_of_answers_is_written_down(world: World) -> None:
    handed_in(world.assignment, world.learner)
    own_file(world)
    assert not AccessEntry.objects.exists(), "one's own file is nobody's business"
    args = [world.classroom.pk, world.seat(world.learner).pk]
    client_of(world.teacher).get(reverse("teaching:learner_export", args=args))
    entry = AccessEntry.objects.get()
    assert (entry.owner, entry.reader, entry.what) == (world.learner, world.teacher, "export of all answers")


def test_answers_go_when_the_retention_is_over(world: World) -> None:
    handed_in(world.assignment, world.learner)
    AccessEntry.objects.create(classroom=world.classroom, owner=world.learner, what="x")
    class_update(classroom=world.classroom, retention_days=30)
    class_archive(classroom=world.classroom)
    with time_machine.travel(timezone.now() + timedelta(days=29)):
        assert retention_apply() == 0
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        assert retention_apply() == 1
    assert not Submission.objects.exists() and not AccessEntry.objects.exists()
    assert Assignment.objects.exists()


def test_a_leaving_teacher_keeps_no_verdicts_on_others(world: World) -> None:
    Run.objects.create(owner=world.teacher, kind="regrade", input={"regrade": 1}, input_hash="0" * 64)
    account_delete(owner=world.teacher)
    assert not Run.objects.filter(kind="regrade").exists()


def test_queries_of_the_dashboard(world: World, django_assert_max_num_queries: Any) -> None:
    for index in range(10):
        assign(world.classroom, world.question_set, title=f"Number {index}")
    client = client_of(world.learner)
    client.get(reverse("teaching:due"))
    with django_assert_max_num_queries(8):
        client.get(reverse("teaching:due"))
    with django_assert_max_num_queries(6):
        client.get(reverse("teaching:notifications"))
