"""Health and metrics: each says what is missing, and metrics are not for everybody."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client

from interview.accounts.models import User
from interview.runs import connection
from interview.runs.selectors import PRESENCE_KEY
from tests.factories import make_run

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


def test_metrics_count_runs(owner: User, anonymous_client: Client) -> None:
    make_run(owner)
    text = anonymous_client.get("/metrics").content.decode()
    assert 'prefill_runs{kind="generate",state="queued"} 1.0' in text
    assert "prefill_queue_reachable 1.0" in text


@pytest.mark.parametrize(
    ("token", "header", "address", "status"),
    [
        ("", "", "127.0.0.1", 200),
        ("", "", "203.0.113.5", 404),
        ("", "", "not an address", 404),
        ("a-long-metrics-token", "", "127.0.0.1", 404),
        ("a-long-metrics-token", "Bearer wrong", "127.0.0.1", 404),
        ("a-long-metrics-token", "Bearer a-long-metrics-token", "203.0.113.5", 200),
    ],
)
def test_who_may_read_metrics(
    anonymous_client: Client, settings: Any, token: str, header: str, address: str, status: int
) -> None:
    settings.METRICS_TOKEN = token
    response = anonymous_client.get("/metrics", headers={"Authorization": header}, REMOTE_ADDR=address)
    assert response.status_code == status
