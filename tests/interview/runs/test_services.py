"""The life of a run: every change of state is guarded, so nobody overwrites what somebody else decided."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from interview.accounts.models import User
from interview.runs import services
from interview.runs.chain import canonical_hash
from interview.runs.connection import client
from interview.runs.models import Run, Trace
from tests.factories import make_run

pytestmark = pytest.mark.django_db


def claimed(owner: User, worker: str = "host:1") -> Run:
    run = services.run_claim(str(make_run(owner).pk), worker=worker)
    assert run is not None
    return run


def test_only_one_worker_gets_a_run(owner: User) -> None:
    run = make_run(owner)
    assert services.run_claim(str(run.pk), worker="host:1") is not None
    assert services.run_claim(str(run.pk), worker="host:2") is None


def test_the_attempt_is_counted_before_the_work(owner: User) -> None:
    assert claimed(owner).attempt == 1


def test_success_writes_the_trace_once(owner: User) -> None:
    run = claimed(owner)
    assert services.run_succeed(run, {"text": "hello"}, {"model": {"name": "m"}})
    assert not services.run_succeed(run, {"text": "again"}, {})
    trace = Trace.objects.get(run=run)
    assert trace.body["state"] == "succeeded"
    assert trace.body["model"] == {"name": "m"}
    assert trace.hash == canonical_hash(trace.body)
    run.refresh_from_db()
    assert run.output == {"text": "hello"}


def test_a_trace_is_never_changed(owner: User) -> None:
    run = claimed(owner)
    services.run_succeed(run, {}, {})
    trace = Trace.objects.get(run=run)
    with pytest.raises(TypeError, match="written once"):
        trace.save()


def test_a_queued_run_is_cancelled_at_once(owner: User) -> None:
    run = services.run_cancel(make_run(owner))
    assert (run.state, run.ended) == ("cancelled", True)
    assert services.run_claim(str(run.pk), worker="host:1") is None


def test_a_running_run_is_flagged_and_keeps_what_it_made(owner: User) -> None:
    run = services.run_cancel(claimed(owner))
    assert (run.state, run.cancel_requested) == ("running", True)
    assert services.run_end_cancelled(run, {"text": "so far"}, {})
    run.refresh_from_db()
    assert (run.state, run.output) == ("cancelled", {"text": "so far"})


def test_a_late_finish_never_overwrites(owner: User) -> None:
    first = claimed(owner)
    services.run_requeue(first, event="worker_lost", counts=True)
    second = services.run_claim(str(first.pk), worker="host:2")
    assert second is not None
    assert not services.run_succeed(first, {"text": "late"}, {})
    assert services.run_succeed(second, {"text": "in time"}, {})
    second.refresh_from_db()
    assert second.output == {"text": "in time"}
    assert [entry["event"] for entry in second.history] == ["worker_lost"]


def test_an_expired_lease_goes_back_once_then_fails_with_a_reason(owner: User) -> None:
    run = claimed(owner)
    for expected in ("queued", "failed"):
        Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        assert services.runs_reap() == 1
        run.refresh_from_db()
        assert run.state == expected
        services.run_claim(str(run.pk), worker="host:2")
    assert "stopped twice" in run.reason


def test_a_live_lease_is_left_alone(owner: User) -> None:
    run = claimed(owner)
    services.runs_heartbeat("host:1", [str(run.pk)])
    assert services.runs_reap() == 0


def test_a_stopping_worker_costs_no_attempt(owner: User) -> None:
    run = claimed(owner)
    services.run_requeue(run, event="worker_stopped", counts=False)
    run.refresh_from_db()
    assert (run.state, run.attempt) == ("queued", 0)


def test_a_cancelled_run_whose_worker_died_ends_cancelled(owner: User) -> None:
    run = services.run_cancel(claimed(owner))
    services.runs_release(worker="host:1")
    run.refresh_from_db()
    assert run.state == "cancelled"


def test_the_same_key_and_body_is_the_same_run(owner: User) -> None:
    first = services.run_create(owner=owner, kind="generate", input={"prompt": "a"}, idempotency_key="k")
    assert (
        services.run_create(owner=owner, kind="generate", input={"prompt": "a"}, idempotency_key="k").pk
        == first.pk
    )
    with pytest.raises(services.IdempotencyConflict):
        services.run_create(owner=owner, kind="generate", input={"prompt": "b"}, idempotency_key="k")


def test_the_same_key_of_another_owner_is_another_run(owner: User, other: User) -> None:
    first = services.run_create(owner=owner, kind="generate", input={"prompt": "a"}, idempotency_key="k")
    assert (
        services.run_create(owner=other, kind="generate", input={"prompt": "a"}, idempotency_key="k").pk
        != first.pk
    )


def test_the_quota_counts_what_waits(owner: User, other: User, settings: Any) -> None:
    settings.RUN_QUEUE_LIMIT = 2
    runs = [make_run(owner), make_run(owner)]
    with pytest.raises(services.QuotaExceeded, match="2 runs waiting"):
        make_run(owner)
    make_run(other)
    services.run_cancel(runs[0])
    make_run(owner)


def test_unstorable_text_is_replaced(owner: User) -> None:
    run = make_run(owner, prompt="a\x00b\ud800c")
    run.refresh_from_db()
    assert run.input["prompt"] == "a\ufffdb\ufffdc"


@pytest.mark.django_db(transaction=True)
def test_committing_a_run_sends_its_message(owner: User) -> None:
    run = make_run(owner)
    run.refresh_from_db()
    assert run.woken is not None
    assert client().llen("prefill") == 1


def test_a_run_rolled_back_sends_none(owner: User) -> None:
    make_run(owner)
    assert client().llen("prefill") == 0


@pytest.mark.django_db(transaction=True)
def test_runs_without_a_message_are_woken_again(owner: User) -> None:
    run = make_run(owner)
    client().flushdb()
    assert services.runs_rewake() == 0
    assert services.runs_rewake(everything=True) == 1
    Run.objects.filter(pk=run.pk).update(woken=None)
    assert services.runs_rewake() == 1
    assert client().llen("prefill") == 2
