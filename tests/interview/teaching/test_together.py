"""Two of the staff at the same page at once: nobody's work is put back by an older page."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from interview.accounts.models import User
from interview.teaching.dates import wall_clock
from interview.teaching.models import Extension, Override
from interview.teaching.services.assignments import extension_give
from tests.interview.teaching.conftest import World, client_of, handed_in, work_on

pytestmark = pytest.mark.django_db
ZONE = "Europe/Zurich"


def edit(world: World) -> str:
    return reverse("teaching:assignment_edit", args=[world.classroom.pk, world.assignment.pk])


def opened(world: World, user: User, address: str) -> dict[str, str]:
    """What the page's form sends when nothing is changed."""
    form = client_of(user).get(address).context["form"]
    return {field.name: "" if (value := field.value()) is None else str(value) for field in form}


def save(user: User, address: str, data: dict[str, str]) -> Any:
    return client_of(user).post(address, data)


def test_what_only_the_other_one_changed_stays_theirs(world: World) -> None:
    mine, theirs = (opened(world, user, edit(world)) for user in (world.owner, world.teacher))
    due = wall_clock(world.assignment.due + timedelta(days=3), ZONE).strftime("%Y-%m-%dT%H:%M")
    assert save(world.teacher, edit(world), theirs | {"due": due, "attempts": ""}).status_code == 302
    assert save(world.owner, edit(world), mine | {"instructions": "Read first."}).status_code == 302
    world.assignment.refresh_from_db()
    assert world.assignment.instructions == "Read first."
    assert wall_clock(world.assignment.due, ZONE).strftime("%Y-%m-%dT%H:%M") == due
    assert world.assignment.attempts is None


def test_the_same_field_comes_back_with_both_and_the_second_press_is_meant(world: World) -> None:
    mine, theirs = (opened(world, user, edit(world)) for user in (world.owner, world.teacher))
    save(world.teacher, edit(world), theirs | {"title": "Week <one>, theirs", "instructions": "Theirs."})
    answer = save(world.owner, edit(world), mine | {"title": "Mine"})
    page = answer.content.decode()
    assert answer.status_code == 422 and 'value="Mine"' in page and "Week &lt;one&gt;, theirs" in page
    assert "Theirs." in page, "what only they changed is on the page too"
    again = {field.name: str(field.value() or "") for field in answer.context["form"]}
    assert save(world.owner, edit(world), again).status_code == 302
    world.assignment.refresh_from_db()
    assert (world.assignment.title, world.assignment.instructions) == ("Mine", "Theirs.")


def test_the_class_as_well(world: World) -> None:
    address = reverse("teaching:class_edit", args=[world.classroom.pk])
    mine, theirs = (opened(world, user, address) for user in (world.owner, world.teacher))
    save(world.teacher, address, theirs | {"time_zone": "Asia/Kathmandu"})
    assert save(world.owner, address, mine | {"about": "Wednesdays."}).status_code == 302
    world.classroom.refresh_from_db()
    assert (world.classroom.time_zone, world.classroom.about) == ("Asia/Kathmandu", "Wednesdays.")


@pytest.mark.parametrize("seen", ["", "{", "[]", '{"due": 7}', "x" * 9_000])
def test_a_page_without_its_marks_saves_as_it_says(world: World, seen: str) -> None:
    data = opened(world, world.owner, edit(world)) | {"seen": seen, "title": "Changed"}
    answer = save(world.owner, edit(world), data)
    assert answer.status_code in (302, 422)
    if answer.status_code == 302:
        world.assignment.refresh_from_db()
        assert world.assignment.title == "Changed"


def test_a_ruling_that_came_meanwhile_is_shown_before_it_is_ruled_over(world: World) -> None:
    answer = handed_in(world.assignment, world.learner).answers.get(item__position=1)
    page = reverse("teaching:answer", args=[world.classroom.pk, answer.pk])
    rule = reverse("teaching:override", args=[world.classroom.pk, answer.pk])
    assert 'name="seen" value="0"' in client_of(world.owner).get(page).content.decode()
    data = {"points": "1", "reason": "Half of it.", "seen": "0"}
    assert save(world.assistant, rule, data).status_code == 302
    mine = {"points": "2", "reason": "All there.", "seen": "0"}
    told = save(world.owner, rule, mine)
    shown = told.content.decode()
    assert told.status_code == 409 and "Half of it." in shown and 'value="All there."' in shown
    assert Override.objects.count() == 1
    (seen,) = set(re.findall(r'name="seen" value="(\d+)"', shown))
    assert save(world.owner, rule, mine | {"seen": seen}).status_code == 302
    assert [row.reason for row in Override.objects.filter(removed=None)] == ["All there."]
    assert save(world.owner, rule, mine | {"points": "0"}).status_code == 302, (
        "over one's own there is no question"
    )


def test_a_date_that_would_end_work_in_progress_is_asked_about_first(world: World) -> None:
    """A slip in a date hands in what thirty people are writing, for good."""
    submission = work_on(world.assignment, world.learner, "Half a tho")
    data = opened(world, world.owner, edit(world))
    soon = wall_clock(timezone.now() - timedelta(minutes=2), ZONE).strftime("%Y-%m-%dT%H:%M")
    asked = save(world.owner, edit(world), data | {"due": soon})
    page = asked.content.decode()
    assert asked.status_code == 422 and "1 attempt is in progress and is handed in at once" in page
    assert f'value="{soon}"' in page and '<input type="hidden" name="ends" value="1">' in page
    submission.refresh_from_db()
    assert submission.submitted is None
    assert save(world.owner, edit(world), data | {"due": soon, "ends": "1"}).status_code == 302
    submission.refresh_from_db()
    assert submission.automatic


def test_dates_that_end_nothing_ask_nothing(world: World) -> None:
    work_on(world.assignment, world.learner)
    extension_give(
        assignment=world.assignment, learner=world.learner, due=world.assignment.due + timedelta(days=1)
    )
    data = opened(world, world.owner, edit(world))
    soon = wall_clock(timezone.now() - timedelta(minutes=2), ZONE).strftime("%Y-%m-%dT%H:%M")
    assert save(world.owner, edit(world), data | {"due": soon}).status_code == 302, "their own date is later"


@pytest.mark.parametrize("typed", [{"late_hours_1": "24", "late_percent_1": "80"}, {"late_credit": "50"}])
def test_a_late_credit_needs_an_end_of_the_late_window(world: World, typed: dict[str, str]) -> None:
    data = opened(world, world.owner, edit(world))
    answer = save(world.owner, edit(world), data | typed)
    assert answer.status_code == 422 and "until when late work is accepted" in answer.content.decode()


def test_a_second_extension_takes_back_nothing_of_the_first(world: World) -> None:
    address = reverse("teaching:extension_give", args=[world.classroom.pk, world.assignment.pk])
    who = {"learner": str(world.learner.pk)}
    for data in ({"extra_attempts": "1", "reason": "Ill."}, {"days": "3"}, {"extra_time_percent": "50"}):
        assert client_of(world.teacher).post(address, who | data).status_code == 302
    row = Extension.objects.get()
    assert (row.extra_attempts, row.extra_time_percent, row.reason) == (1, 50, "Ill.")
    later = wall_clock(world.assignment.due, ZONE) + timedelta(days=3)
    assert wall_clock(row.due, ZONE) == later
    client_of(world.teacher).post(address, who | {"extra_attempts": "0"})
    row.refresh_from_db()
    assert (row.extra_attempts, wall_clock(row.due, ZONE)) == (0, later)
