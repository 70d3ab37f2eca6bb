"""/metrics: off by default, behind its token, and the numbers of the queue as they are."""

from __future__ import annotations

import json
import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from interview.accounts.models import User
from interview.runs.connection import client
from interview.runs.models import Run
from interview.runs.selectors import PRESENCE_KEY
from tests.factories import make_run

TOKEN = "a-token-for-this-test"


def read(answer: str) -> dict[tuple[str, str], float]:
    """(name, state label) → value."""
    samples = [sample for family in text_string_to_metric_families(answer) for sample in family.samples]
    return {(sample.name, sample.labels.get("state", "")): sample.value for sample in samples}


def test_they_are_off_without_a_token(anonymous_client: Client) -> None:
    assert anonymous_client.get("/metrics").status_code == 404


@pytest.mark.parametrize(
    "header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer \u00e9"}]
)
def test_the_token_is_asked_for(anonymous_client: Client, settings: Settings, header: dict[str, str]) -> None:
    settings.METRICS_TOKEN = TOKEN
    assert anonymous_client.get("/metrics", headers=header).status_code == 401


def test_the_queue_is_counted(owner: User, anonymous_client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN
    make_run(owner)
    make_run(owner)
    run = make_run(owner)
    Run.objects.filter(pk=run.pk).update(created=timezone.now() - timedelta(seconds=90))
    present = {"at": time.time(), "ready": True, "jobs": 2}
    gone = {"at": time.time() - 60, "ready": True, "jobs": 5}
    client().hset(PRESENCE_KEY, mapping={"here:1": json.dumps(present), "gone:2": json.dumps(gone)})

    answer = anonymous_client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/plain; version=0.0.4")
    numbers = read(answer.content.decode())
    assert numbers["prefill_runs", "queued"] == 3
    assert 90 <= numbers["prefill_oldest_queued_seconds", ""] < 100
    assert numbers["prefill_oldest_running_seconds", ""] == 0
    assert numbers["prefill_workers", ""] == numbers["prefill_workers_ready", ""] == 1
    assert numbers["prefill_worker_jobs", ""] == 2
    assert numbers["prefill_queue_reachable", ""] == 1
    assert numbers["process_resident_memory_bytes", ""] > 0
