"""Reads of the queue."""

from __future__ import annotations

import json
import time
from typing import Any

from interview.runs.connection import LOST, client

PRESENCE_KEY = "prefill:workers"
PRESENCE_SECONDS = 15


def queue_reachable() -> bool:
    """Redis answers."""
    try:
        return bool(client().ping())
    except LOST:
        return False


def workers_present() -> list[dict[str, Any]]:
    """Workers that reported within the last seconds, with the model each has loaded."""
    try:
        reports = client().hgetall(PRESENCE_KEY)
    except LOST:
        return []
    workers = [json.loads(report) for report in reports.values()]  # type: ignore[union-attr]
    return [worker for worker in workers if time.time() - worker["at"] < PRESENCE_SECONDS]


def worker_ready() -> bool:
    """At least one worker is there and its model is loaded."""
    return any(worker["ready"] for worker in workers_present())
