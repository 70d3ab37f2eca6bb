"""Writes of the queue. Every change of state is one guarded UPDATE whose count says who won."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from kombu.exceptions import OperationalError

from interview.accounts.models import User
from interview.plain_text import storable_json
from interview.runs import kinds
from interview.runs.chain import canonical_hash
from interview.runs.connection import LOST
from interview.runs.models import ATTEMPT_CAP, CANCELLED, FAILED, QUEUED, RUNNING, SUCCEEDED, Run
from interview.runs.quotas import QuotaExceeded, quota_check
from interview.runs.traces import trace_write

REWAKE_AFTER = timedelta(seconds=60)
WORKER_LOST = (
    "The worker stopped twice while working on this. Nothing you wrote is lost; you can start it again."
)
log = structlog.get_logger(__name__)

__all__ = ["IdempotencyConflict", "QuotaExceeded"]


class IdempotencyConflict(Exception):
    """The same idempotency key came with another body."""


@transaction.atomic
def run_create(
    *,
    owner: User,
    kind: str,
    input: dict[str, Any],
    idempotency_key: str | None = None,
    origin: dict[str, Any] | None = None,
) -> Run:
    """Store a run and wake a worker on commit. Raises QuotaExceeded, IdempotencyConflict."""
    input = storable_json(input)
    input_hash = canonical_hash([kind, input])
    if idempotency_key and (known := _run_by_key(owner, idempotency_key, input_hash)):
        return known
    quota_check(owner, kind)
    try:
        with transaction.atomic():
            run = Run.objects.create(
                owner=owner,
                kind=kind,
                input=input,
                input_hash=input_hash,
                idempotency_key=idempotency_key or None,
                origin=origin or {},
            )
    except IntegrityError:
        known = _run_by_key(owner, str(idempotency_key), input_hash)
        if known is None:
            raise
        return known
    transaction.on_commit(lambda: run_wake(run))
    return run


def _run_by_key(owner: User, key: str, input_hash: str) -> Run | None:
    run = Run.objects.filter(owner=owner, idempotency_key=key).first()
    if run is not None and run.input_hash != input_hash:
        raise IdempotencyConflict("This idempotency key was used for another request. Use a new key.")
    return run


def run_wake(run: Run) -> bool:
    """Send the message that wakes a worker; False when the broker is away (a reaper sends it later)."""
    from interview.runs.tasks import execute_run

    try:
        execute_run.apply_async((str(run.pk),), retry=False)
    except (OperationalError, *LOST) as error:
        log.warning("broker_away", run=str(run.pk), error=str(error))
        return False
    Run.objects.filter(pk=run.pk).update(woken=timezone.now())
    return True


def run_claim(run_id: str, *, worker: str) -> Run | None:
    """Take a queued run for this worker, counting the attempt first; None when there is nothing to take."""
    now = timezone.now()
    claimed = Run.objects.filter(pk=run_id, state=QUEUED, attempt__lt=ATTEMPT_CAP).update(
        state=RUNNING, attempt=F("attempt") + 1, worker=worker, started=now, lease_until=lease_end(now)
    )
    return Run.objects.select_related("owner").get(pk=run_id) if claimed else None


def lease_end(now: datetime) -> datetime:
    """When a lease taken now runs out."""
    return now + timedelta(seconds=settings.RUN_LEASE_SECONDS)


def runs_heartbeat(worker: str, run_ids: list[str]) -> None:
    """Extend the leases of the runs this worker is on."""
    Run.objects.filter(pk__in=run_ids, worker=worker, state=RUNNING).update(
        lease_until=lease_end(timezone.now())
    )


def run_succeed(run: Run, output: dict[str, Any], trace: dict[str, Any]) -> bool:
    """End this attempt well; False when the run was ended or taken over meanwhile."""
    return _end(run, SUCCEEDED, "", output, trace)


def run_fail(run: Run, reason: str, trace: dict[str, Any], output: dict[str, Any] | None = None) -> bool:
    """End this attempt with a reason its owner sees, keeping what was made so far where that can be shown."""
    return _end(run, FAILED, reason[:300], output, trace)


def run_end_cancelled(run: Run, output: dict[str, Any] | None, trace: dict[str, Any]) -> bool:
    """End this attempt as cancelled, keeping what was made so far."""
    return _end(run, CANCELLED, "", output, trace)


@transaction.atomic
def _end(run: Run, state: str, reason: str, output: dict[str, Any] | None, trace: dict[str, Any]) -> bool:
    now = timezone.now()
    mine = Run.objects.filter(pk=run.pk, state=RUNNING, attempt=run.attempt)
    usage = trace.get("usage") or {}
    ended = mine.update(
        state=state,
        reason=reason,
        output=storable_json(output),
        finished=now,
        lease_until=None,
        prompt_tokens=F("prompt_tokens") + usage.get("prompt_tokens", 0),
        completion_tokens=F("completion_tokens") + usage.get("completion_tokens", 0),
    )
    if not ended:
        log.info("late_finish_ignored", run=str(run.pk), attempt=run.attempt, state=state)
        return False
    run.refresh_from_db()
    trace_write(run, trace)
    _tell_kind(run)
    return True


def _tell_kind(run: Run) -> None:
    kind = kinds.known(run.kind)
    if kind is not None and kind.ended is not None:
        kind.ended(run)


@transaction.atomic
def run_cancel(run: Run) -> Run:
    """Cancel: a queued run at once, a running one within a step of its worker; an ended one stays as it is."""
    now = timezone.now()
    if Run.objects.filter(pk=run.pk, state=QUEUED).update(
        state=CANCELLED, finished=now, cancel_requested=True
    ):
        run.refresh_from_db()
        trace_write(run, {})
        _tell_kind(run)
        return run
    Run.objects.filter(pk=run.pk, state=RUNNING).update(cancel_requested=True)
    run.refresh_from_db()
    return run


@transaction.atomic
def run_requeue(run: Run, *, event: str, counts: bool) -> bool:
    """Put a running attempt back: after its worker was lost (counts) or asked to stop (doesn't)."""
    history = [
        *run.history,
        {"at": timezone.now().isoformat(), "event": event, "attempt": run.attempt, "worker": run.worker},
    ]
    mine = Run.objects.filter(pk=run.pk, state=RUNNING, attempt=run.attempt)
    if counts and run.attempt >= ATTEMPT_CAP:
        Run.objects.filter(pk=run.pk, attempt=run.attempt).update(history=history)
        return run_fail(run, WORKER_LOST, {})
    if run.cancel_requested:
        return run_end_cancelled(run, None, {})
    back = mine.update(
        state=QUEUED,
        history=history,
        lease_until=None,
        woken=None,
        attempt=run.attempt if counts else run.attempt - 1,
    )
    if back:
        transaction.on_commit(lambda: run_wake(run))
    return bool(back)


def runs_reap() -> int:
    """Requeue or fail runs whose lease ran out; returns how many."""
    expired = Run.objects.filter(state=RUNNING, lease_until__lt=timezone.now())
    return sum(run_requeue(run, event="lease_expired", counts=True) for run in expired)


def runs_release(*, worker: str) -> int:
    """Requeue at once the runs of a worker that is known to be gone (`host:pid`)."""
    held = Run.objects.filter(state=RUNNING, worker=worker)
    return sum(run_requeue(run, event="worker_lost", counts=True) for run in held)


def runs_rewake(*, everything: bool = False) -> int:
    """Send the wake-up again for queued runs whose message was never sent or must have been lost."""
    queued = Run.objects.filter(state=QUEUED).order_by("created")
    if not everything:
        queued = queued.exclude(woken__gt=timezone.now() - REWAKE_AFTER)
    woken = 0
    for run in queued[:500]:
        if not run_wake(run):
            break
        woken += 1
    return woken
