"""The same for programs: gradebooks read and points given by a token, with the same rights."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from interview.accounts.models import User
from interview.accounts.services import token_create
from interview.runs import chores
from interview.teaching.models import Override
from tests.interview.teaching.conftest import World, handed_in

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


@pytest.mark.parametrize(
    ("persona", "status"),
    [(None, 401), ("stranger", 404), ("learner", 403), ("assistant", 200), ("teacher", 200), ("owner", 200)],
)
def test_rights(world: World, persona: str | None, status: int) -> None:
    handed_in(world.assignment, world.learner)
    user = getattr(world, persona) if persona else None
    assert call(user, "get", gradebook(world)).status_code == status
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
