"""Deadlines on the wall of the class: across the changes of the clocks, moved, extended, late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

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
from interview.teaching.models import Assignment, Extension, Notification, Submission
from interview.teaching.selectors.assignments import counted, score_of, submission_list, window_for
from interview.teaching.services.assignments import assignment_update, extension_give
from interview.teaching.services.classes import class_update
from interview.teaching.services.notices import assignments_announce
from interview.teaching.services.work import attempt_start, attempts_settle
from tests.interview.teaching.conftest import World, assign, client_of, handed_in, work_on

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
        ("2026-04-05T01:45", "Australia/Lord_Howe", "2026-04-04T15:15"),  # the half hour that comes twice
        ("2026-07-01T23:59", "Asia/Kathmandu", "2026-07-01T18:14"),
        ("2026-07-01T23:59", "Pacific/Chatham", "2026-07-01T11:14"),
        ("2011-12-29T23:59", "Pacific/Apia", "2011-12-30T09:59"),
        ("2011-12-31T00:00", "Pacific/Apia", "2011-12-30T10:00"),  # a minute later: the 30th was skipped
    ],
)
def test_a_wall_clock_time_is_one_moment(wall: str, zone: str, utc: str) -> None:
    found = moment(datetime.fromisoformat(wall), zone)
    assert found == at(utc)
    assert wall_clock(found, zone) == datetime.fromisoformat(wall)


def test_an_hour_that_the_clocks_skip_is_refused() -> None:
    with pytest.raises(SkippedHour, match=r"02:30 doesn't exist on 29 March 2026 in Europe/Zurich"):
        moment(datetime(2026, 3, 29, 2, 30), ZURICH)


@pytest.mark.parametrize(
    ("wall", "zone", "jump"),
    [
        ("2026-03-29T02:30", ZURICH, timedelta(hours=1)),
        ("2026-10-04T02:10", "Australia/Lord_Howe", timedelta(minutes=30)),
        ("2011-12-30T12:00", "Pacific/Apia", timedelta(days=1)),
        ("2026-09-06T00:15", "America/Santiago", timedelta(hours=1)),  # midnight itself is skipped
    ],
)
def test_a_computed_date_in_a_gap_moves_by_its_length(wall: str, zone: str, jump: timedelta) -> None:
    there = datetime.fromisoformat(wall)
    with pytest.raises(SkippedHour):
        moment(there, zone)
    week_before = moment(there - timedelta(days=7), zone)
    assert wall_clock(days_later(week_before, 7, zone), zone) == there + jump
    assert wall_clock(rezoned(there.replace(tzinfo=UTC), "UTC", zone), zone) == there + jump


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
    due = world.assignment.due
    made = assign(world.classroom, world.question_set, due=due, late_until=due + timedelta(days=3))
    extension_give(assignment=made, learner=world.learner, due=made.due + timedelta(days=2))
    window, wall = window_for(made, world.learner), timedelta(days=3)
    assert wall_clock(window.closes, ZURICH) == wall_clock(window.due, ZURICH) + wall
    # The whole assignment is moved beyond the extension: nobody is worse off than the class.
    assignment_update(
        assignment=made, due=made.due + timedelta(days=5), late_until=made.due + timedelta(days=9)
    )
    assert window_for(made, world.learner).due == made.due


@pytest.mark.parametrize(
    ("due", "closes"),
    [
        ("2026-03-20T23:59", "2026-03-30T23:59"),  # the extension before the change, its late window after it
        ("2026-10-16T23:59", "2026-10-26T23:59"),
    ],
)
def test_the_late_window_of_an_extension_ends_at_its_hour_too(world: World, due: str, closes: str) -> None:
    first = moment(datetime.fromisoformat(due), ZURICH)
    late = days_later(first, 3, ZURICH)
    made = assign(
        world.classroom, world.question_set, opens=at("2026-03-01T00:00"), due=first, late_until=late
    )
    extension_give(assignment=made, learner=world.learner, due=days_later(first, 7, ZURICH))
    window = window_for(made, world.learner)
    assert wall_clock(window.closes, ZURICH) == datetime.fromisoformat(closes)


def test_a_due_date_moved_before_what_was_written_keeps_every_word_and_an_honest_time(world: World) -> None:
    now = timezone.now().replace(microsecond=0)
    with time_machine.travel(now, tick=False):
        submission = work_on(world.assignment, world.learner, "Written after the new date.")
    Assignment.objects.update(opens=now - timedelta(days=9), due=now - timedelta(days=1))
    with time_machine.travel(now + timedelta(minutes=5), tick=False):
        assert attempts_settle() == 1
    submission.refresh_from_db()
    assert submission.submitted == now and not submission.blank, "not before its own words"


def test_an_attempt_with_a_limit_is_closed_however_many_others_are_open(
    world: World, django_assert_max_num_queries: Any
) -> None:
    limited = assign(world.classroom, world.question_set, time_limit_minutes=30)
    attempt_start(assignment=world.assignment, learner=world.learner)
    submission = attempt_start(assignment=limited, learner=world.learner)
    soon = time_machine.travel(timezone.now() + timedelta(minutes=29), tick=False)
    with soon, django_assert_max_num_queries(2):
        assert attempts_settle() == 0
    with time_machine.travel(timezone.now() + timedelta(minutes=31), tick=False):
        assert attempts_settle() == 1
    submission.refresh_from_db()
    assert submission.automatic


def test_a_time_limit_ends_no_later_than_the_late_window(world: World) -> None:
    late = WINDOW.closes - timedelta(minutes=10)
    window = Window(WINDOW.opens, DUE, WINDOW.closes, 1, 60)
    assert window.ends(late) == WINDOW.closes
    assert not window.is_over(late, WINDOW.closes + timedelta(milliseconds=999))
    assert window.is_over(late, WINDOW.closes + timedelta(seconds=1))


def test_a_reminder_is_for_ones_own_date(world: World) -> None:
    """Reminded of the first date, then given an extension: the second date is told of as well."""
    due = world.assignment.due
    Assignment.objects.update(opens=timezone.now() - timedelta(hours=1))
    told = Notification.objects.filter(owner=world.learner, text__startswith="Due within a day")
    with time_machine.travel(due - timedelta(hours=5), tick=False):
        assignments_announce()
        assignments_announce()
        assert told.count() == 1
        extension_give(assignment=world.assignment, learner=world.learner, due=due + timedelta(days=3))
    with time_machine.travel(due + timedelta(days=2, hours=20), tick=False):
        assignments_announce()
    assert told.count() == 2


def test_dates_keep_their_order_where_the_new_zones_clocks_jump_between_them(world: World) -> None:
    opens, due = at("2026-03-29T02:30"), at("2026-03-29T03:15")
    made = assign(
        world.elsewhere, world.question_set, opens=opens, due=due, late_until=due + timedelta(minutes=10)
    )
    class_update(classroom=world.elsewhere, time_zone=ZURICH)
    made.refresh_from_db()
    assert made.late_until is not None and made.opens < made.due < made.late_until
    assert made.due - made.opens == timedelta(minutes=45)


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
