"""Deadlines on the wall of the class: across the changes of the clocks, moved, extended, late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.urls import reverse

from interview.teaching.dates import (
    LateStep,
    SkippedHour,
    Window,
    days_later,
    in_words,
    moment,
    rezoned,
    wall_clock,
)
from interview.teaching.models import Assignment, Extension, Submission
from interview.teaching.selectors.assignments import counted, score_of, submission_list, window_for
from interview.teaching.services.assignments import assignment_update, extension_give
from interview.teaching.services.classes import class_update
from tests.interview.teaching.conftest import World, assign, client_of, handed_in

pytestmark = pytest.mark.django_db
ZURICH = "Europe/Zurich"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("wall", "zone", "utc"),
    [
        ("2026-03-28T23:59", ZURICH, "2026-03-28T22:59"),
        ("2026-03-29T23:59", ZURICH, "2026-03-29T21:59"),
        ("2026-10-25T02:30", ZURICH, "2026-10-25T01:30"),  # twice that night: the later one
        ("2026-11-01T23:59", "America/New_York", "2026-11-02T04:59"),
        ("2026-04-05T23:59", "Australia/Lord_Howe", "2026-04-05T13:29"),
    ],
)
def test_a_wall_clock_time_is_one_moment(wall: str, zone: str, utc: str) -> None:
    found = moment(datetime.fromisoformat(wall), zone)
    assert found == at(utc)
    assert wall_clock(found, zone) == datetime.fromisoformat(wall)


def test_an_hour_that_the_clocks_skip_is_refused() -> None:
    with pytest.raises(SkippedHour, match=r"02:30 doesn't exist on 29 March 2026 in Europe/Zurich"):
        moment(datetime(2026, 3, 29, 2, 30), ZURICH)


def test_days_later_is_the_same_hour() -> None:
    due = moment(datetime(2026, 3, 25, 23, 59), ZURICH)
    assert wall_clock(days_later(due, 7, ZURICH), ZURICH) == datetime(2026, 4, 1, 23, 59)
    assert days_later(due, 7, ZURICH) - due == timedelta(days=7) - timedelta(hours=1)
    assert wall_clock(days_later(moment(datetime(2026, 3, 22, 2, 30), ZURICH), 7, ZURICH), ZURICH).hour == 3


def test_another_zone_keeps_the_hour() -> None:
    due = moment(datetime(2026, 7, 1, 23, 59), ZURICH)
    assert wall_clock(rezoned(due, ZURICH, "America/New_York"), "America/New_York").hour == 23


def form(**changes: str) -> dict[str, str]:
    data = {
        "title": "Across the change",
        "opens": "2026-03-20T08:00",
        "due": "2026-03-29T23:59",
        "attempts": "1",
        "counting": "best",
        "feedback": "after_due",
        "order": "fixed",
    }
    return data | changes


def post(world: World, **changes: str) -> Any:
    address = reverse("teaching:assignment_create", args=[world.classroom.pk])
    return client_of(world.owner).post(address, form(source=str(world.question_set.pk), **changes))


def test_due_at_2359_set_before_the_change_is_2359_after_it(world: World) -> None:
    with time_machine.travel("2026-03-15T12:00:00Z"):
        assert post(world).status_code == 302
    made = Assignment.objects.get(title="Across the change")
    assert made.due == at("2026-03-29T21:59")
    with time_machine.travel("2026-03-30T12:00:00Z"):
        page = client_of(world.learner).get(
            reverse("teaching:assignment", args=[world.classroom.pk, made.pk])
        )
        assert "Sun 29 Mar 2026, 23:59 CEST" in page.content.decode()
        edit = client_of(world.owner).get(
            reverse("teaching:assignment_edit", args=[world.classroom.pk, made.pk])
        )
        assert 'value="2026-03-29T23:59"' in edit.content.decode()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"due": "2026-03-29T02:30"}, "02:30 doesn&#x27;t exist on 29 March 2026"),
        ({"due": "2026-03-19T10:00"}, "The due date must be after the opening."),
        ({"late_until": "2026-03-29T10:00"}, "This must be after the due date, or empty."),
        ({"due": "tomorrow"}, "Give a date and a time"),
        ({"due": "2026-03-29T23:59+02:00"}, "of the class&#x27;s zone"),
        ({"late_hours_1": "24"}, "Give both the hours and the percent"),
        (
            {"late_hours_1": "24", "late_percent_1": "80", "late_hours_2": "12", "late_percent_2": "50"},
            "The second step must be later",
        ),
        ({"attempts": "0"}, "greater than or equal to 1"),
    ],
)
def test_a_wrong_date_is_told_and_nothing_typed_is_lost(
    world: World, changes: dict[str, str], told: str
) -> None:
    answer = post(world, **({"instructions": "Read chapter three first."} | changes))
    assert answer.status_code == 422
    text = answer.content.decode()
    assert told in text and "Read chapter three first." in text


def test_an_extension_of_seven_days_across_the_change_keeps_the_hour(world: World) -> None:
    due = moment(datetime(2026, 3, 25, 23, 59), ZURICH)
    made = assign(world.classroom, world.question_set, opens=at("2026-03-01T00:00"), due=due)
    address = reverse("teaching:extension_give", args=[world.classroom.pk, made.pk])
    answer = client_of(world.owner).post(address, {"learner": str(world.learner.pk), "days": "7"})
    assert answer.status_code == 302
    row = Extension.objects.get()
    assert wall_clock(row.due, ZURICH) == datetime(2026, 4, 1, 23, 59)
    assert window_for(made, world.learner).due == row.due
    assert window_for(made, world.classmate).due == due


def test_an_extension_is_never_earlier_and_moves_the_late_window(world: World) -> None:
    made = assign(world.classroom, world.question_set, late_until=world.assignment.due + timedelta(days=3))
    extension_give(assignment=made, learner=world.learner, due=made.due + timedelta(days=2))
    window = window_for(made, world.learner)
    assert window.closes - window.due == window_for(made, world.classmate).closes - made.due
    # The whole assignment is moved beyond the extension: nobody is worse off than the class.
    assignment_update(
        assignment=made, due=made.due + timedelta(days=5), late_until=made.due + timedelta(days=9)
    )
    assert window_for(made, world.learner).due == made.due


def test_moving_the_due_date_makes_earlier_penalties_vanish(world: World) -> None:
    made = assign(
        world.classroom,
        world.question_set,
        due=world.assignment.due,
        late_until=world.assignment.due + timedelta(days=2),
        late_credit=50,
    )
    submission = handed_in(made, world.learner, at=made.due + timedelta(hours=3))
    score = score_of(submission, window_for(made, world.learner))
    assert (score.credit, score.points, score.penalty) == (50, Decimal("2.00"), Decimal("2.00"))
    assignment_update(assignment=made, due=made.due + timedelta(hours=4))
    score = score_of(submission, window_for(made, world.learner))
    assert (score.credit, score.points, score.penalty) == (100, Decimal("4.00"), Decimal(0))


def test_moving_the_class_to_another_zone_keeps_every_hour(world: World) -> None:
    before = wall_clock(world.assignment.due, ZURICH)
    extension_give(assignment=world.assignment, learner=world.learner, due=world.assignment.due)
    class_update(classroom=world.classroom, name="x", time_zone="America/New_York")
    world.assignment.refresh_from_db()
    assert wall_clock(world.assignment.due, "America/New_York") == before
    assert Extension.objects.get().due == world.assignment.due


DUE = at("2026-05-01T12:00")
STEPS = (LateStep(24, 80), LateStep(48, 50))
WINDOW = Window(DUE - timedelta(days=7), DUE, DUE + timedelta(days=4), 1, None, STEPS, 0)


@pytest.mark.parametrize(
    ("late", "credit"),
    [
        (timedelta(0), 100),
        (timedelta(milliseconds=900), 100),
        (timedelta(seconds=1), 80),
        (timedelta(hours=24), 80),
        (timedelta(hours=24, seconds=1), 50),
        (timedelta(hours=48), 50),
        (timedelta(hours=49), 0),
    ],
)
def test_late_steps_are_exact_to_the_second(late: timedelta, credit: int) -> None:
    assert WINDOW.credit(DUE + late) == credit


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(seconds=40), "40 s"),
        (timedelta(minutes=5), "5 min"),
        (timedelta(hours=2, minutes=5), "2 h 5 min"),
        (timedelta(days=3, hours=4), "3 days 4 h"),
        (timedelta(days=1), "1 day"),
    ],
)
def test_spans_in_words(span: timedelta, words: str) -> None:
    assert in_words(span) == words


def test_a_late_attempt_in_the_best_rule_counts_after_its_penalty(world: World) -> None:
    made = assign(
        world.classroom,
        world.question_set,
        attempts=None,
        late_until=world.assignment.due + timedelta(days=2),
        due=world.assignment.due,
        late_credit=10,
    )
    handed_in(made, world.learner, at=made.due - timedelta(hours=1), share=0.5)
    handed_in(made, world.learner, at=made.due + timedelta(hours=1), share=1.0)
    best = counted(made, window_for(made, world.learner), submission_list(made, world.learner))
    assert best is not None and best.points == Decimal("2.00") and best.submission.number == 1
    assert Submission.objects.count() == 2
