"""The same for programs: gradebooks read and points given by a token, with the same rights."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.services import token_create
from interview.runs import chores
from interview.teaching.models import Override
from tests.interview.teaching.conftest import World, assign, handed_in

pytestmark = pytest.mark.django_db


def call(user: User | None, method: str, path: str, body: Any = None) -> Any:
    headers = {}
    if user is not None:
        _, secret = token_create(owner=user, name=f"t{user.api_tokens.count()}")
        headers = {"Authorization": f"Bearer {secret}"}
    extra = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
    return getattr(Client(), method)(f"/api/v1/{path}", headers=headers, **extra)


def gradebook(world: World) -> str:
    return f"classes/{world.classroom.pk}/assignments/{world.assignment.pk}/gradebook"


def test_a_gradebook_as_json(world: World) -> None:
    handed_in(world.assignment, world.learner, share=0.5)
    (listed,) = call(world.assistant, "get", "classes").json()
    assert (listed["name"], listed["role"]) == ("Serving models", "assistant")
    book = call(world.assistant, "get", gradebook(world)).json()
    lena = next(row for row in book["learners"] if row["name"] == "Lena")
    assert (book["of"], lena["points"], lena["state"]) == (4.0, 2.0, "assessed")
    assert lena["answers"][0] == {"question": "paging", "points": 1.0, "of": 2.0, "by_a_teacher": False}
    milo = next(row for row in book["learners"] if row["name"] == "Milo")
    assert (milo["state"], milo["handed_in"], milo["points"]) == ("not handed in", None, None)


def test_a_late_penalty_is_apart_from_what_was_earned(world: World) -> None:
    now = timezone.now()
    dates = {
        "opens": now - timedelta(days=3),
        "due": now - timedelta(days=1),
        "late_until": now + timedelta(days=1),
    }
    late = assign(world.classroom, world.question_set, title="Late", late_credit=50, **dates)
    handed_in(late, world.learner)
    listed = call(world.assistant, "get", f"classes/{world.classroom.pk}/assignments").json()
    assert [(row["title"], row["questions"], row["of"]) for row in listed] == [
        ("Late", 3, 4.0),
        ("Week one", 3, 4.0),
    ]
    book = call(
        world.owner, "get", f"classes/{world.classroom.pk}/assignments/{listed[0]['id']}/gradebook"
    ).json()
    lena = next(row for row in book["learners"] if row["name"] == "Lena")
    assert (lena["earned"], lena["late_credit_percent"], lena["late_penalty"], lena["points"]) == (
        4.0,
        50,
        2.0,
        2.0,
    )


def test_a_ruling_is_given_and_taken_back(world: World) -> None:
    handed_in(world.assignment, world.learner, share=0.5)
    member = world.seat(world.learner).pk
    path = gradebook(world).replace("gradebook", "overrides")
    body = {"member": member, "question": "paging", "points": "1.5", "reason": "Oral exam"}
    assert call(world.owner, "post", path, body).json()["points"] == 1.5
    for user, status in ((world.stranger, 404), (world.learner, 403), (None, 401)):
        assert call(user, "delete", f"{path}/{member}/paging").status_code == status
    taken = call(world.assistant, "delete", f"{path}/{member}/paging").json()
    assert taken == {"question": "paging", "points": 1.0, "of": 2.0, "by_a_teacher": False}
    assert call(world.assistant, "delete", f"{path}/{member}/paging").status_code == 404


@pytest.mark.parametrize(
    ("persona", "status"),
    [(None, 401), ("stranger", 404), ("learner", 403), ("assistant", 200), ("teacher", 200), ("owner", 200)],
)
def test_rights(world: World, persona: str | None, status: int) -> None:
    handed_in(world.assignment, world.learner)
    user = getattr(world, persona) if persona else None
    assert call(user, "get", gradebook(world)).status_code == status
    assert call(user, "get", f"classes/{world.classroom.pk}/assignments").status_code == status
    body = {
        "member": world.seat(world.learner).pk,
        "question": "paging",
        "points": "1.5",
        "reason": "Oral exam",
    }
    path = gradebook(world).replace("gradebook", "overrides")
    assert call(user, "post", path, body).status_code == status
    assert Override.objects.count() == (status == 200)


@pytest.mark.parametrize(
    ("changes", "status"),
    [({"points": "3"}, 422), ({"question": "nothing"}, 404), ({"member": 0}, 404), ({"reason": ""}, 422)],
)
def test_a_wrong_ruling_is_refused(world: World, changes: dict[str, Any], status: int) -> None:
    handed_in(world.assignment, world.learner)
    body = {"member": world.seat(world.learner).pk, "question": "paging", "points": "1", "reason": "x"}
    path = gradebook(world).replace("gradebook", "overrides")
    assert call(world.owner, "post", path, body | changes).status_code == status
    assert not Override.objects.exists()


def test_what_the_clock_asks_for_is_done_by_one_worker(world: World) -> None:
    done = chores.run_due()
    assert {"teaching-settle", "teaching-announce", "teaching-digests", "teaching-retention"} <= set(done)
    assert chores.run_due() == []
