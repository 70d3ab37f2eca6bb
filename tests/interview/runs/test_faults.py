"""Bad input and faults at the queue: what a person, a second tab, a slow reader or a locked database can do."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.runs import events, fairness, services, stream
from interview.runs.models import Run
from tests.factories import make_run

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def claimed(owner: User, **input: Any) -> Run:
    run = services.run_claim(str(make_run(owner, **input).pk), worker="host:1")
    assert run is not None
    return run


@pytest.mark.django_db
def test_script_in_prompt_and_output_is_inert(owner: User, owner_client: Client) -> None:
    run = claimed(owner, messages=[{"role": "user", "content": SCRIPT}])
    rows = [[0, 1, SCRIPT, -0.1, 1.0]]
    output = {
        "text": SCRIPT,
        "per_token": rows,
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        "timings": {},
    }
    services.run_succeed(run, output, {**output, "rendered_prompt": SCRIPT, "model": {"name": SCRIPT}})
    for name in ("runs:run", "runs:trace"):
        page = owner_client.get(reverse(name, args=[run.pk])).content.decode()
        assert "<script>alert" not in page and "<img src=x" not in page
        assert "&lt;script&gt;" in page
    assert "<script>alert" not in owner_client.get(reverse("runs:run_list")).content.decode()


@pytest.mark.django_db
def test_a_cancel_after_the_finish_changes_nothing(owner: User, owner_client: Client) -> None:
    run = claimed(owner)
    services.run_succeed(run, {"text": "done"}, {})
    owner_client.post(reverse("runs:cancel", args=[run.pk]))
    run.refresh_from_db()
    assert (run.state, run.output) == ("succeeded", {"text": "done"})


@pytest.mark.django_db
def test_a_cancel_before_the_start_never_starts(owner: User) -> None:
    run = make_run(owner)
    services.run_cancel(run)
    assert fairness.run_claim_next(worker="host:1") is None
    run.refresh_from_db()
    assert run.trace.body["started"] is None and run.trace.body["state"] == "cancelled"


def read_all(run: Run, pause: float = 0.0) -> list[bytes]:
    async def collect() -> list[bytes]:
        chunks = []
        async for chunk in stream.run_events(run.pk, events.START):
            chunks.append(chunk)
            if pause:
                await asyncio.sleep(pause)
        return chunks

    return asyncio.run(collect())


def publish(run: Run, tokens: int) -> None:
    publisher = events.Publisher(run.pk)
    publisher.emit("started", {"attempt": 1})
    for index in range(tokens):
        publisher.emit("token", {"i": index, "id": index, "text": "x", "logprob": None})
        publisher.flush()
    services.run_succeed(run, {"text": "x" * tokens}, {})
    publisher.emit("done", {"state": "succeeded"})


def indexes(chunks: list[bytes]) -> list[int]:
    import json

    batches = [json.loads(c.split(b"data: ", 1)[1]) for c in chunks if b"event: tokens" in c]
    return [token["i"] for batch in batches for token in batch["tokens"]]


@pytest.mark.django_db(transaction=True)
def test_two_tabs_on_one_run_both_see_everything(owner: User) -> None:
    run = claimed(owner)
    publish(run, 20)
    assert indexes(read_all(run)) == indexes(read_all(run)) == list(range(20))


@pytest.mark.django_db(transaction=True)
def test_a_slow_reader_misses_nothing_and_holds_nobody_up(owner: User) -> None:
    run = claimed(owner)
    slow: list[list[bytes]] = []
    reader = threading.Thread(target=lambda: slow.append(read_all(run, pause=0.01)))
    reader.start()
    began = time.monotonic()
    publish(run, 60)
    assert time.monotonic() - began < 2, "the writer doesn't wait for its readers"
    reader.join(timeout=20)
    assert indexes(slow[0]) == list(range(60))


def lock_everything() -> Callable[[], None]:
    """Somebody else holds the database (SQLite) or the table of runs (PostgreSQL); call the answer to let go."""
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        holder = sqlite3.connect(settings["NAME"], isolation_level=None, check_same_thread=False)
        holder.execute("BEGIN IMMEDIATE")
        return lambda: holder.close()
    other = psycopg.connect(
        host=settings["HOST"], port=settings["PORT"], user=settings["USER"], password=settings["PASSWORD"],
        dbname=settings["NAME"],
    )  # fmt: skip
    other.execute("LOCK TABLE runs_run IN EXCLUSIVE MODE")
    return lambda: other.close()


@pytest.mark.django_db(transaction=True)
def test_a_locked_database_delays_an_ending_and_loses_nothing(owner: User) -> None:
    run = claimed(owner)
    threading.Timer(1.0, lock_everything()).start()
    began = time.monotonic()
    assert services.run_succeed(run, {"text": "late"}, {})
    assert time.monotonic() - began > 0.5
    run.refresh_from_db()
    assert run.state == "succeeded" and run.trace.body["state"] == "succeeded"
