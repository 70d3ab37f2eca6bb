"""The event stream: nothing is missed by coming late or coming back, and a lost Redis is survived."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from django.test import AsyncClient, Client
from django.urls import reverse

from interview.accounts.models import User
from interview.runs import connection, events, services, stream
from interview.runs.models import Run
from tests.factories import make_run

pytestmark = pytest.mark.django_db(transaction=True)


def read(
    run: Run, after: str = events.START, *, until: Callable[[bytes], bool] | None = None
) -> list[tuple[str, str, Any]]:
    """(id, event, data) of a run's stream up to `done` (or `until`)."""

    async def collect() -> list[bytes]:
        chunks = []
        async for chunk in stream.run_events(run.pk, after):
            chunks.append(chunk)
            if until is not None and until(chunk):
                break
        return chunks

    return [parse(chunk) for chunk in asyncio.run(collect()) if b"data: " in chunk]


def parse(chunk: bytes) -> tuple[str, str, Any]:
    fields = dict(line.split(": ", 1) for line in chunk.decode().strip().split("\n"))
    return fields.get("id", ""), fields["event"], json.loads(fields["data"])


@pytest.fixture
def ended(owner: User) -> Run:
    """A run whose whole stream is there."""
    run = services.run_claim(str(make_run(owner).pk), worker="host:1")
    assert run is not None
    publisher = events.Publisher(run.pk)
    publisher.emit("started", {"attempt": 1})
    for index in range(5):
        publisher.emit("token", {"i": index, "id": index, "text": f" t{index}", "logprob": -0.1})
    services.run_succeed(run, {"text": "all"}, {})
    publisher.emit("done", {"state": "succeeded"})
    return run


def test_a_token_waits_no_longer_than_its_batch_however_late_the_next_one_is(owner: User) -> None:
    publisher = events.Publisher(uuid.uuid4())
    for index in range(2):
        publisher.emit("token", {"i": index})
    assert connection.client().xlen(publisher.key) == 1, "the first goes out at once"
    time.sleep(3 * events.FLUSH_SECONDS)
    rows: Any = connection.client().xrange(publisher.key)
    assert [[t["i"] for t in json.loads(fields["data"])["tokens"]] for _, fields in rows] == [[0], [1]]


def test_a_late_reader_gets_everything(ended: Run) -> None:
    seen = read(ended)
    tokens = [token["i"] for _, event, data in seen if event == "tokens" for token in data["tokens"]]
    assert tokens == [0, 1, 2, 3, 4]
    assert seen[-1][1:] == ("done", {"state": "succeeded"})


def test_the_first_token_is_sent_at_once_and_the_rest_in_batches(ended: Run) -> None:
    batches = [len(data["tokens"]) for _, event, data in read(ended) if event == "tokens"]
    assert batches == [1, 4]


def test_resuming_repeats_nothing(ended: Run) -> None:
    first = next(event_id for event_id, event, _ in read(ended) if event == "tokens")
    tokens = [
        token["i"] for _, event, data in read(ended, first) if event == "tokens" for token in data["tokens"]
    ]
    assert tokens == [1, 2, 3, 4]


def test_an_expired_stream_ends_from_the_database(ended: Run) -> None:
    connection.client().delete(events.stream_key(ended.pk))
    assert read(ended)[-1][1:] == ("done", {"state": "succeeded"})


def test_a_lost_redis_falls_back_to_the_database(ended: Run, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    connection.client.cache_clear()
    try:
        assert read(ended)[-1][1:] == ("done", {"state": "succeeded"})
    finally:
        connection.client.cache_clear()


def test_publishing_without_redis_does_not_fail_the_run(owner: User, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    connection.client.cache_clear()
    try:
        events.Publisher(uuid.uuid4()).emit("started", {"attempt": 1})
        run = make_run(owner)
        assert services.run_claim(str(run.pk), worker="host:1") is not None
    finally:
        connection.client.cache_clear()


def test_waiting_says_its_place(owner: User) -> None:
    make_run(owner)
    second = make_run(owner)
    state = read(second, until=lambda chunk: b"event: state" in chunk)
    assert state[0][2]["position"] == 2


@pytest.mark.parametrize(
    "value", ["", "x", "0", "-1", "1-1; DROP", "9" * 50 + "-0", "9" * 20 + "-0", "1-" + "9" * 20]
)
def test_a_bad_resume_point_is_the_beginning(value: str) -> None:
    assert stream.resume_point(value, None) == events.START


def test_last_event_id_wins_over_the_query() -> None:
    assert stream.resume_point("5-1", "3-1") == "5-1"


@pytest.mark.parametrize("name", ["runs:events", "run_events"])
def test_the_view_streams_to_its_owner_only(ended: Run, owner: User, other: User, name: str) -> None:
    url = reverse(name, args=[ended.pk])

    async def get(user: User | None) -> tuple[int, str]:
        client = AsyncClient()
        if user is not None:
            await client.aforce_login(user)
        response = await client.get(url)
        if not response.streaming:
            return response.status_code, ""
        stream_of_bytes = cast(AsyncIterator[bytes], response)
        return response.status_code, b"".join([chunk async for chunk in stream_of_bytes]).decode()

    status, body = asyncio.run(get(owner))
    assert status == 200
    assert "event: done" in body
    assert asyncio.run(get(other))[0] == 404
    assert asyncio.run(get(None))[0] == 404


def test_posting_to_a_stream_is_refused(ended: Run, owner_client: Client) -> None:
    assert owner_client.post(reverse("runs:events", args=[ended.pk])).status_code == 405
