"""Reads of the queue."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from interview.accounts.models import User
from interview.runs.connection import LOST, client
from interview.runs.fairness import place_of
from interview.runs.models import QUEUED, RUNNING, SUCCEEDED, Run, Trace

PRESENCE_KEY = "prefill:workers"
PRESENCE_SECONDS = 15
SAMPLE = 20


def queue_reachable() -> bool:
    """Redis answers."""
    try:
        return bool(client().ping())
    except LOST:
        return False


def workers_present() -> list[dict[str, Any]]:
    """Workers that reported within the last seconds, with the model each has loaded."""
    try:
        reports: dict[str, str] = client().hgetall(PRESENCE_KEY)  # type: ignore[assignment]
    except LOST:
        return []
    workers = [json.loads(report) for report in reports.values()]
    return [worker for worker in workers if time.time() - worker["at"] < PRESENCE_SECONDS]


def worker_ready() -> bool:
    """At least one worker is there and its model is loaded."""
    return any(worker["ready"] for worker in workers_present())


def run_list(owner: User) -> QuerySet[Run]:
    """The owner's runs, newest first, without the big columns."""
    return Run.objects.filter(owner=owner).defer("output", "history")


def run_get(run_id: uuid.UUID, owner: User | None) -> Run | None:
    """A run of this owner, or None: whether somebody else has it stays private."""
    return Run.objects.filter(pk=run_id, owner=owner).first() if owner else None


def trace_get(run: Run) -> Trace | None:
    """The trace of an ended run."""
    return Trace.objects.filter(run=run).select_related("entry").first()


@dataclass(frozen=True)
class Standing:
    """Where a run stands, as its page, fragment and event stream say it."""

    state: str
    reason: str
    position: int
    seconds: float | None
    queue_reachable: bool
    worker_ready: bool
    cancelling: bool
    took: float | None = None
    running_for: float = 0.0

    @property
    def words(self) -> str:
        """One line for people."""
        if self.state == QUEUED:
            return self._queued_words()
        if self.state == RUNNING:
            return "stopping" if self.cancelling else f"for {self.running_for:.0f} s"
        took = f"in {self.took:.1f} s" if self.took is not None else ""
        return {"succeeded": took, "failed": self.reason, "cancelled": "as you asked"}[self.state]

    def _queued_words(self) -> str:
        if not self.queue_reachable:
            return "Saved. The queue can't be reached right now; this starts by itself once it is back."
        if not self.worker_ready:
            return "Saved. No worker is ready yet; this starts by itself as soon as one is."
        place = f"{ordinal(self.position)} in queue"
        return f"{place}, about {max(1, round(self.seconds))} s" if self.seconds is not None else place


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th …"""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def standing(run: Run) -> Standing:
    """State, place in the queue and the time it may take, from rows and the workers' reports."""
    waiting = run.state == QUEUED
    position = place_of(run) if waiting else 0
    return Standing(
        state=run.state,
        reason=run.reason,
        position=position,
        seconds=_expected_seconds(run.kind, position) if waiting else None,
        queue_reachable=queue_reachable() if waiting else True,
        worker_ready=worker_ready() if waiting else True,
        cancelling=run.cancel_requested,
        took=(run.finished - run.started).total_seconds() if run.finished and run.started else None,
        running_for=(timezone.now() - run.started).total_seconds() if run.started else 0.0,
    )


def _expected_seconds(kind: str, position: int) -> float | None:
    """Mean time of the last finished runs of this kind, times the place in the queue."""
    times = (
        Run.objects.filter(kind=kind, state=SUCCEEDED, started__isnull=False)
        .order_by("-finished")
        .values_list("started", "finished")[:SAMPLE]
    )
    seconds = [(finished - started).total_seconds() for started, finished in times if started and finished]
    return position * sum(seconds) / len(seconds) if seconds else None
