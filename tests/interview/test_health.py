"""Health: alive is cheap, ready names what is missing."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client

from interview.runs import connection
from interview.runs.selectors import PRESENCE_KEY

pytestmark = pytest.mark.django_db


def report(ready: bool, at: float) -> str:
    return json.dumps({"at": at, "ready": ready, "jobs": 0, "model": "m"})


def test_alive_needs_nothing(anonymous_client: Client) -> None:
    assert anonymous_client.get("/healthz/live").json() == {"status": "ok"}


def test_ready_names_what_is_missing(anonymous_client: Client) -> None:
    response = anonymous_client.get("/healthz/ready")
    assert response.status_code == 503
    assert response.json() == {"status": "not ready", "database": True, "queue": True, "worker": False}


@pytest.mark.parametrize(("ready", "age", "status"), [(True, 0, 200), (False, 0, 503), (True, 60, 503)])
def test_a_worker_must_be_loaded_and_recent(
    anonymous_client: Client, ready: bool, age: int, status: int
) -> None:
    connection.client().hset(PRESENCE_KEY, "host:1", report(ready, time.time() - age))
    assert anonymous_client.get("/healthz/ready").status_code == status


def test_a_lost_queue_is_named(anonymous_client: Client, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    connection.client.cache_clear()
    try:
        assert anonymous_client.get("/healthz/ready").json()["queue"] is False
    finally:
        connection.client.cache_clear()


@pytest.mark.parametrize(
    "path", ["/", "/questions/", "/calculators/", "/healthz/live", "/practice/", "/playground/generate/"]
)
def test_a_head_request_is_answered_like_a_get(anonymous_client: Client, path: str) -> None:
    response = anonymous_client.head(path)
    assert response.status_code == 200
    assert response.content == b""
