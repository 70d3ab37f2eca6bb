"""A class: made in one form, joined by link and code, left and joined again, handed over, deleted."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.services import CannotLeave, account_delete
from interview.teaching.models import Answer, Classroom, JoinLink, Membership
from interview.teaching.services.classes import class_create
from tests.interview.teaching.conftest import World, account, client_of, handed_in

pytestmark = pytest.mark.django_db


def join(client: Client, code: str) -> Any:
    return client.post(reverse("teaching:join", args=[code]))


@pytest.fixture
def code(world: World) -> str:
    return JoinLink.objects.get(classroom=world.classroom).code


def test_a_class_is_made_with_its_link(owner_client: Client, owner: User) -> None:
    data = {"name": "Serving  models", "time_zone": "America/New_York", "about": ""}
    answer = owner_client.post(reverse("teaching:class_create"), data, follow=True)
    classroom = Classroom.objects.get()
    assert (classroom.name, classroom.time_zone) == ("Serving models", "America/New_York")
    assert JoinLink.objects.get().code[:4] in answer.content.decode()
    assert Membership.objects.get().role == "owner"


def test_a_class_needs_a_name_and_keeps_what_was_typed(owner_client: Client) -> None:
    data = {"name": " ", "time_zone": "UTC", "about": "A long description"}
    answer = owner_client.post(reverse("teaching:class_create"), data)
    assert answer.status_code == 422
    assert "A long description" in answer.content.decode()


def test_the_link_works_for_many(world: World, code: str) -> None:
    for name in ("ada", "ben", "cleo"):
        assert join(client_of(account(name)), code).status_code == 302
    assert Membership.objects.filter(classroom=world.classroom, role="learner").count() == 5


@pytest.mark.parametrize("typed", ["{}", " {} ", "lower", "dashed"])
def test_the_code_is_read_as_it_is_typed(world: World, code: str, typed: str) -> None:
    shown = {"lower": code.lower(), "dashed": f"{code[:4]} - {code[4:]}"}.get(typed, typed.format(code))
    answer = client_of(account("ada")).post(reverse("teaching:join_code"), {"code": shown})
    assert answer["Location"] == reverse("teaching:join", args=[code])


def test_the_second_click_says_already_in(world: World, code: str) -> None:
    client = client_of(account("ada"))
    join(client, code)
    page = client.post(reverse("teaching:join", args=[code]), follow=True).content.decode()
    assert "You are already in Serving models" in page
    assert Membership.objects.filter(classroom=world.classroom, owner__name="Ada").count() == 1


def test_looking_at_the_link_joins_nothing(world: World, code: str) -> None:
    client = client_of(account("ada"))
    assert client.get(reverse("teaching:join", args=[code])).status_code == 200
    assert not Membership.objects.filter(owner__name="Ada").exists()


def test_a_visitor_signs_up_and_comes_back(world: World, code: str) -> None:
    page = Client().get(reverse("teaching:join", args=[code])).content.decode()
    assert f"/account/sign-up/?next=/join/{code}/" in page


@pytest.mark.parametrize("how", ["expired", "revoked"])
def test_a_closed_link_lets_nobody_in(world: World, code: str, how: str) -> None:
    past = timezone.now() - timedelta(seconds=1)
    JoinLink.objects.filter(code=code).update(**{"expires" if how == "expired" else "revoked": past})
    answer = join(client_of(account("ada")), code)
    assert answer.status_code == 409
    assert "expired or was revoked" in answer.content.decode()
    # Who is in already is told so, link open or not.
    assert join(client_of(world.learner), code).status_code == 302


def test_leaving_and_joining_again_restores_the_seat(world: World, code: str) -> None:
    seat = world.seat(world.learner)
    client = client_of(world.learner)
    client.post(reverse("teaching:class_leave", args=[world.classroom.pk]))
    assert client.get(reverse("teaching:class_page", args=[world.classroom.pk])).status_code == 404
    join(client, code)
    again = world.seat(world.learner)
    assert (again.pk, again.left) == (seat.pk, None)


def test_who_was_taken_out_comes_back_by_a_teacher_only(world: World, code: str) -> None:
    seat = world.seat(world.learner)
    teacher = client_of(world.teacher)
    teacher.post(reverse("teaching:member_remove", args=[world.classroom.pk, seat.pk]))
    refusal = join(client_of(world.learner), code)
    assert refusal.status_code == 409 and "Ask them to let you back in" in refusal.content.decode()
    teacher.post(reverse("teaching:member_restore", args=[world.classroom.pk, seat.pk]))
    assert world.seat(world.learner).left is None


def test_the_owner_hands_over_and_may_then_leave(world: World) -> None:
    client = client_of(world.owner)
    address = reverse("teaching:class_leave", args=[world.classroom.pk])
    assert client.post(address).status_code == 409
    seat = world.seat(world.teacher)
    client.post(reverse("teaching:owner_change", args=[world.classroom.pk, seat.pk]))
    assert (world.seat(world.teacher).role, world.seat(world.owner).role) == ("owner", "teacher")
    assert client.post(address).status_code == 302


def test_only_a_teacher_takes_a_class_over(world: World) -> None:
    seat = world.seat(world.learner)
    answer = client_of(world.owner).post(reverse("teaching:owner_change", args=[world.classroom.pk, seat.pk]))
    assert answer.status_code == 409
    assert world.seat(world.owner).role == "owner"


def test_deleting_the_owners_account_passes_the_class_on(world: World) -> None:
    account_delete(owner=world.owner)
    assert world.seat(world.teacher).role == "owner"


def test_an_account_with_learners_and_no_heir_stays(world: World) -> None:
    Membership.objects.filter(owner=world.teacher).delete()
    with pytest.raises(CannotLeave, match="Serving models"):
        account_delete(owner=world.owner)
    assert User.objects.filter(pk=world.owner.pk).exists()


def test_an_empty_class_goes_with_its_owner(world: World) -> None:
    account_delete(owner=world.stranger)
    assert not Classroom.objects.filter(pk=world.elsewhere.pk).exists()


def test_a_class_is_deleted_by_its_own_name_only(world: World) -> None:
    client = client_of(world.owner)
    address = reverse("teaching:class_delete", args=[world.classroom.pk])
    assert client.post(address, {"confirm": "serving"}).status_code == 422
    assert client.post(address, {"confirm": "Serving models"}).status_code == 302
    assert not Classroom.objects.filter(pk=world.classroom.pk).exists()
    assert User.objects.filter(pk=world.learner.pk).exists()


def test_a_teacher_sees_what_waits_and_a_learner_does_not(world: World) -> None:
    handed_in(world.assignment, world.learner)
    waiting = handed_in(world.assignment, world.classmate, share=None)
    Answer.objects.filter(submission=waiting).update(review="not_assessed")
    address = reverse("teaching:class_page", args=[world.classroom.pk])

    def words(user: User) -> str:
        page = client_of(user).get(address).content.decode()
        return " ".join(re.sub(r"<[^>]+>", "", page).split())

    assert "2 handed in · 3 to review" in words(world.assistant)
    assert "handed in ·" not in words(world.learner) and "to review" not in words(world.learner)
    Membership.objects.filter(owner=world.classmate).update(left=timezone.now())
    assert "1 handed in" in words(world.owner) and "to review" not in words(world.owner)


def test_queries_do_not_grow_with_the_class(world: World, django_assert_max_num_queries: Any) -> None:
    for index in range(40):
        Membership.objects.create(classroom=world.classroom, owner=account(f"l{index}"))
    for index in range(10):
        class_create(owner=world.owner, name=f"Class {index}", time_zone="UTC")
    client = client_of(world.owner)
    with django_assert_max_num_queries(9):
        client.get(reverse("teaching:people", args=[world.classroom.pk]))
    with django_assert_max_num_queries(4):
        client.get(reverse("teaching:class_list"))
