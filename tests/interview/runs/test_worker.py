"""The worker around a kind's code: what ends a run that doesn't end by itself."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from interview.accounts.models import User
from interview.runs import kinds, services
from interview.runs.models import Run
from interview.runs.worker import Worker

pytestmark = pytest.mark.django_db


def waits(job: kinds.Job) -> dict[str, Any]:
    """Like the model's code: comes back when it is halted, with what there is so far."""
    halted = threading.Event()
    job.call_on_halt(halted.set)
    with job.stage("waiting", hint="for the halt"):
        halted.wait(10)
    return {"text": "so far"}


@pytest.fixture
def worker() -> Worker:
    kinds.register(kinds.Kind(name="waits", title="Waits", execute=waits))
    made = Worker()
    made.models = object()  # type: ignore[assignment]  # the kind of this test uses none
    return made


def test_a_run_over_its_time_is_ended(owner: User, worker: Worker, settings: Any) -> None:
    settings.RUN_TIME_LIMIT_SECONDS = 0
    run = services.run_create(owner=owner, kind="waits", input={})
    stop = threading.Event()

    def keep() -> None:
        while not stop.is_set():
            worker._watch_times()
            time.sleep(0.01)

    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        worker.execute(str(run.pk))
    finally:
        stop.set()
        keeper.join()
    run.refresh_from_db()
    assert (run.state, run.reason[:20]) == ("failed", "It took longer than ")
    assert run.output == {"text": "so far"}, "what was made in that time can be seen"
    stage = run.trace.body["stages"][1]
    assert (stage["name"], stage["hint"]) == ("waiting", "for the halt") and stage["ms"] >= 0


def test_an_unknown_kind_fails_and_takes_nothing_down(owner: User, worker: Worker) -> None:
    run = Run.objects.create(owner=owner, kind="of-another-version", input={}, input_hash="0")
    worker.execute(str(run.pk))
    run.refresh_from_db()
    assert run.state == "failed"


def test_a_kind_with_a_limit_leaves_the_threads_to_others(
    owner: User, other: User, worker: Worker, monkeypatch: Any
) -> None:
    seen: list[tuple[str, list[str]]] = []

    def looks(job: kinds.Job) -> dict[str, Any]:
        """While one of the limited kind is going, another thread takes the next message."""
        running = [each.run.kind for each in worker.jobs.values()]
        seen.append((job.run.kind, running))
        if len(seen) == 1:
            worker.execute("any")
        return {}

    kinds.register(kinds.Kind(name="one-at-a-time", title="One", execute=looks, at_once=1))
    kinds.register(kinds.Kind(name="waits", title="Waits", execute=looks))
    monkeypatch.setattr(services, "run_wake", lambda run: woken.append(run.kind))
    woken: list[str] = []
    for _ in range(3):
        Run.objects.create(owner=owner, kind="one-at-a-time", input={}, input_hash="0")
    Run.objects.create(owner=other, kind="waits", input={}, input_hash="0")
    worker.execute("any")
    assert [kind for kind, _ in seen] == ["one-at-a-time", "waits"]
    assert seen[1][1].count("one-at-a-time") == 1
    assert "one-at-a-time" in woken, "the next of the kind is woken when one has ended"
    worker.execute("any")
    assert Run.objects.filter(kind="one-at-a-time", state="succeeded").count() == 2
