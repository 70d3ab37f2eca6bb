"""The export holds every row of every owned model, and no secret."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.hashers import make_password
from django.db import connections
from django.test import AsyncClient, Client
from django.urls import reverse

from interview.accounts.export import export_file
from interview.accounts.models import ApiToken, User
from interview.accounts.owned import dependents, relations
from interview.practice.models import Draft
from interview.questions.models import Question
from tests.interview.accounts.doors import become_guest
from tests.interview.accounts.owned_rows import MARK, TIES, make_everything

pytestmark = pytest.mark.django_db


def exported(client: Client) -> dict[str, Any]:
    response = client.get(reverse("accounts:export"))
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response["Content-Disposition"].startswith('attachment; filename="prefill-')
    with pytest.warns(Warning, match="asynchronous iterators"):
        body = b"".join(response)
    assert len(body) == int(response["Content-Length"])
    found: dict[str, Any] = json.loads(body)
    return found


def test_every_owned_row_is_in_it(owner_client: Client, owner: User, question: Question) -> None:
    made = make_everything(owner, question)
    rows = exported(owner_client)["rows"]
    for label, row in made.items():
        keys = [str(exported_row["id"]) for exported_row in rows[label]]
        assert str(row.pk) in keys, label
        assert label in TIES or MARK in json.dumps(rows[label]), label


def test_somebody_elses_rows_are_not(
    owner_client: Client, owner: User, other: User, question: Question
) -> None:
    make_everything(other, question)
    assert not any(exported(owner_client)["rows"].values())


def test_no_secret_is_in_it(owner_client: Client, owner: User, question: Question) -> None:
    make_everything(owner, question)
    text = json.dumps(exported(owner_client))
    assert owner.password not in text
    assert ApiToken.objects.get().digest not in text
    assert "password" not in exported(owner_client)["account"]
    assert exported(owner_client)["account"]["email"] == owner.email


def test_a_guest_exports_too(anonymous_client: Client, question: Question) -> None:
    make_everything(become_guest(anonymous_client), question)
    found = exported(anonymous_client)
    assert found["account"]["is_guest"]
    assert found["rows"]["practice.draft"][0]["text"] == MARK


def test_a_visitor_has_nothing_to_export(anonymous_client: Client) -> None:
    assert anonymous_client.get(reverse("accounts:export")).status_code == 404
    assert not User.objects.exists()


def test_text_of_any_kind_survives(owner_client: Client, owner: User, question: Question) -> None:
    text = 'ünïcode 漢字 🙂 "quoted" \\ </script>\u2028\u200b line\nend'
    Draft.objects.create(owner=owner, question=question, text=text)
    assert exported(owner_client)["rows"]["practice.draft"][0]["text"] == text


def test_a_lone_surrogate_is_written_as_the_json_escape(owner: User) -> None:
    """SQLite keeps one inside JSON; PostgreSQL refuses it, so it is only in memory here."""
    owner.name = "broken \ud800 half"
    with export_file(owner) as file:
        file.seek(0)
        assert json.loads(file.read())["account"]["name"] == "broken \ud800 half"


@pytest.mark.django_db(transaction=True)
def test_it_streams_over_asgi(owner: User, question: Question) -> None:
    """The server runs on ASGI: the file goes out in parts without Django gathering it first."""
    for _ in range(30):
        make_everything_large(owner)

    async def fetch() -> list[bytes]:
        client = AsyncClient()
        await client.aforce_login(owner)
        response: Any = await client.get(reverse("accounts:export"))
        parts = [part async for part in response.streaming_content]
        await sync_to_async(connections.close_all)()
        return parts

    parts = asyncio.run(fetch())
    assert len(parts) > 10
    assert len(json.loads(b"".join(parts))["rows"]["runs.run"]) == 30


def make_everything_large(owner: User) -> None:
    from interview.runs.models import Run

    Run.objects.create(owner=owner, kind="generate", input={"prompt": "x" * 100_000}, input_hash="0" * 64)


def test_the_number_of_queries_does_not_grow_with_the_rows(
    owner_client: Client, owner: User, question: Question, django_assert_max_num_queries: Any
) -> None:
    for index in range(50):
        ApiToken.objects.create(
            owner=owner, name=str(index), prefix="p", digest=make_password(str(index))[:60]
        )
    models = {relation.model for relation in relations()} | set(dependents())
    with django_assert_max_num_queries(len(models) + 6):
        exported(owner_client)


def test_too_many_exports_are_refused(owner_client: Client) -> None:
    statuses = [owner_client.get(reverse("accounts:export")).status_code for _ in range(21)]
    assert statuses == [200] * 20 + [429]
