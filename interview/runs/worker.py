"""The worker side: models loaded once a process, runs executed by threads, one keeper thread beside them."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from engine.errors import EngineError
from interview.runs import chores, fairness, kinds, retention, services
from interview.runs.connection import LOST, client
from interview.runs.events import Publisher
from interview.runs.facts import engine_facts
from interview.runs.models import RUNNING, Run
from interview.runs.selectors import PRESENCE_KEY

if TYPE_CHECKING:
    from engine import Engine, Grader
    from engine.embeddings import Embedder

CANCEL_POLL_SECONDS = 0.2
CHORE_SECONDS = 5.0
SWITCH_SECONDS = 0.0005
PRUNE_SECONDS = 3600.0
TOO_LONG = "It took longer than {} s, the most a run may take. Ask for less, or raise the limit."
EPOCH_KEY = "prefill:queue-epoch"
FAILED_INSIDE = (
    "Something in the worker failed. It is recorded; your input is kept and you can start it again."
)
log = structlog.get_logger(__name__)


def worker_name(pid: int | None = None) -> str:
    """How a worker process is named in rows and presence: host:pid."""
    return f"{socket.gethostname()}:{pid or os.getpid()}"


class LoadedModels:
    """The language model, the embedding model and the grader of this process."""

    def __init__(self) -> None:
        from engine import Embedder, Grader

        models_dir = Path(settings.MODELS_DIR)
        self.engine: Engine = _remote() if settings.ENGINE_URL else _local(models_dir)
        self.embedder: Embedder = Embedder.load(models_dir)
        self.grader: Grader = Grader(self.embedder)


def _local(models_dir: Path) -> Engine:
    from engine import Engine

    return Engine.load(
        settings.ENGINE_MODEL,
        models_dir=models_dir,
        threads=settings.ENGINE_THREADS or None,
        context=settings.ENGINE_CONTEXT or None,
    )


def _remote() -> Engine:
    """A server behind the engine's own methods; kinds that look inside the model are refused by it with the reason."""
    from engine import RemoteEngine

    return cast("Engine", RemoteEngine(settings.ENGINE_URL, settings.ENGINE_MODEL, settings.ENGINE_KEY))


class Worker:
    """State of this process: loaded models, jobs in progress, the keeper thread."""

    def __init__(self) -> None:
        self.name = worker_name()
        self.models: LoadedModels | None = None
        self.jobs: dict[str, kinds.Job] = {}
        self.stopping = threading.Event()
        self.chores: threading.Thread | None = None
        self._lock = threading.Lock()
        self._taking = threading.Lock()

    def boot(self) -> None:
        """Load the models, take back runs of workers of this host that are gone, start the keeper."""
        # A thread that comes back from the database waits this long for one that computes, and holds locks meanwhile.
        sys.setswitchinterval(SWITCH_SECONDS)
        threading.Thread(target=self._keep, name="keeper", daemon=True).start()
        started = time.monotonic()
        self.models = LoadedModels()
        log.info(
            "models_loaded", seconds=round(time.monotonic() - started, 2), model=self.models.engine.card.name
        )
        release_dead_neighbours()

    def execute(self, run_id: str) -> None:
        """Claim the run whose turn it is, do it, end it; every ending is guarded by the attempt number.

        The message's own run only woke this thread: somebody else's may come first (fairness.py).
        """
        if self.stopping.is_set() or self.models is None:
            return
        taken = self._take(self.models)
        if taken is None:
            return
        job, publisher = taken
        publisher.emit("started", {"attempt": job.run.attempt})
        try:
            state = self._attempt(job)
        finally:
            with self._lock:
                self.jobs.pop(str(job.run.pk), None)
        publisher.emit("done" if state != "queued" else "restart", {"state": state})
        self._wake_after(job.run)

    def _take(self, models: LoadedModels) -> tuple[kinds.Job, Publisher] | None:
        """The next run as a job; one thread at a time, so that no kind gets more than it may."""
        with self._taking:
            with self._lock:
                doing = Counter(job.run.kind for job in self.jobs.values())
            full = [name for name, most in kinds.limited().items() if doing[name] >= most]
            run = fairness.run_claim_next(worker=self.name, full=full)
            if run is None:
                return None
            publisher = Publisher(run.pk)
            job = kinds.Job(run=run, models=models, emit=publisher.emit, stopping=self.stopping)
            with self._lock:
                self.jobs[str(run.pk)] = job
        return job, publisher

    def _wake_after(self, run: Run) -> None:
        """Wake what may have been passed over while this run was going."""
        if waiting := fairness.held_back(run.owner_id):
            services.run_wake(waiting)
        if run.kind in kinds.limited() and (waiting := fairness.passed_over(run.kind)):
            services.run_wake(waiting)

    def _attempt(self, job: kinds.Job) -> str:
        run = job.run
        try:
            output = kinds.kind_of(run).execute(job)
        except kinds.Interrupted:
            services.run_requeue(run, event="worker_stopped", counts=False)
        except (kinds.RunFailed, EngineError) as error:
            self._complete(job)
            services.run_fail(run, str(error), job.trace)
        except Exception:  # a failing run must never take the worker or its neighbours down
            log.exception("run_failed", run=str(run.pk), kind=run.kind)
            self._complete(job)
            services.run_fail(run, FAILED_INSIDE, {**job.trace, "error": traceback.format_exc(limit=20)})
        else:
            self._complete(job)
            if job.cancelled.is_set():
                services.run_end_cancelled(run, output, job.trace)
            elif job.expired:
                reason = TOO_LONG.format(settings.RUN_TIME_LIMIT_SECONDS)
                # Whoever writes rows from an output needs a whole one; everybody else sees what was made in that time.
                services.run_fail(run, reason, job.trace, None if kinds.kind_of(run).ended else output)
            else:
                services.run_succeed(run, output, job.trace)
        return str(Run.objects.values_list("state", flat=True).get(pk=run.pk))

    def _complete(self, job: kinds.Job) -> None:
        """Add to the trace what is the same for every run that used the language model."""
        if self.models is not None and job.trace.get("model"):
            for name, fact in engine_facts(self.models.engine).items():
                job.trace.setdefault(name, fact)

    def stop(self) -> None:
        """Ask every job to go back to the queue; new messages are left for the next worker."""
        self.stopping.set()
        with self._lock:
            jobs = list(self.jobs.values())
        for job in jobs:
            job.halt()

    def close(self) -> None:
        """Forget the presence and free the model."""
        try:
            client().hdel(PRESENCE_KEY, self.name)
        except LOST:
            log.warning("presence_not_removed")
        if self.models is not None:
            self.models.engine.close()

    def _keep(self) -> None:
        """Watch for cancels; renew leases, presence; reap and rewake — each at its own pace."""
        beat = settings.RUN_LEASE_SECONDS / 5
        paces = [
            (CANCEL_POLL_SECONDS, self._watch_cancels),
            (min(beat, 3.0), self._report),
            (beat, self._renew),
            (1.0, self._watch_times),
            (PRUNE_SECONDS, self._prune),
            (CHORE_SECONDS, self._start_chores),
            (float(settings.RUN_REAPER_SECONDS), self._reap),
        ]
        due = [0.0] * len(paces)
        while True:
            for index, (pace, action) in enumerate(paces):
                if time.monotonic() >= due[index]:
                    self._guarded(action)
                    due[index] = time.monotonic() + pace
            time.sleep(CANCEL_POLL_SECONDS / 2)

    def _start_chores(self) -> None:
        """Chores run beside the keeper: a long one must not let leases run out."""
        if self.chores is None or not self.chores.is_alive():
            self.chores = threading.Thread(target=chores.run_due, name="chores", daemon=True)
            self.chores.start()

    def _guarded(self, action: object) -> None:
        try:
            action()  # type: ignore[operator]
        except (DatabaseError, *LOST) as error:
            log.warning("keeper_will_retry", action=getattr(action, "__name__", "?"), error=str(error))
            close_old_connections()

    def _ids(self) -> list[str]:
        with self._lock:
            return list(self.jobs)

    def _watch_cancels(self) -> None:
        ids = self._ids()
        if not ids:
            return
        flagged = Run.objects.filter(pk__in=ids, cancel_requested=True).values_list("pk", flat=True)
        for pk in flagged:
            job = self.jobs.get(str(pk))
            if job is not None and not job.cancelled.is_set():
                job.cancelled.set()
                job.halt()

    def _watch_times(self) -> None:
        """Halt what has run longer than a run may."""
        with self._lock:
            jobs = list(self.jobs.values())
        for job in jobs:
            if not job.expired and time.monotonic() - job.began > settings.RUN_TIME_LIMIT_SECONDS:
                job.expired = True
                job.halt()

    def _renew(self) -> None:
        if ids := self._ids():
            services.runs_heartbeat(self.name, ids)

    def _report(self) -> None:
        models = self.models
        report: dict[str, object] = {
            "at": time.time(),
            "ready": models is not None and not self.stopping.is_set(),
            "jobs": len(self.jobs),
        }
        if models is not None:
            report["model"] = models.engine.card.name
        client().hset(PRESENCE_KEY, self.name, json.dumps(report))

    def _prune(self) -> None:
        if erased := retention.runs_prune():
            log.info("runs_erased", count=erased)

    def _reap(self) -> None:
        services.runs_reap()
        if self.models is not None and not self.stopping.is_set():
            # A marker that is gone means the broker lost its memory: every queued run is woken again.
            fresh = bool(client().set(EPOCH_KEY, self.name, nx=True))
            services.runs_rewake(everything=fresh)


def release_dead_neighbours() -> int:
    """Requeue runs held by workers of this host whose process is gone (after a kill, before the lease ends)."""
    host = socket.gethostname()
    names = Run.objects.filter(state=RUNNING, worker__startswith=f"{host}:").values_list("worker", flat=True)
    gone = [name for name in set(names) if not _alive(int(name.rpartition(":")[2]))]
    return sum(services.runs_release(worker=name) for name in gone)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


_worker: Worker | None = None


def boot() -> None:
    """Called once when the Celery worker process starts."""
    global _worker
    _worker = Worker()
    _worker.boot()


def current() -> Worker:
    """This process's worker. Raises RuntimeError outside one."""
    if _worker is None:
        raise RuntimeError(
            "No worker in this process: start one with `celery -A interview.celery worker --pool=threads`."
        )
    return _worker


def execute(run_id: str) -> None:
    """Execute a run in this worker process."""
    current().execute(run_id)
