"""The whole site on one machine: what `manage.py serve` starts and prints."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import structlog
from django.conf import settings
from django.db import close_old_connections
from django.db.utils import Error as DatabaseError

from interview.runs import services as runs
from interview.runs.connection import LOST, client
from interview.runs.selectors import PRESENCE_KEY, queue_reachable
from interview.runs.valkey import EmbeddedValkey, ValkeyFailed
from interview.runs.worker import worker_name
from interview.serve.child import Child
from interview.serve.listen import ServeFailed, listen
from interview.serve.prepare import PrepareFailed, prepare
from interview.serve.probe import known_host, reachable, readiness
from interview.serve.supervisor import Supervisor

Say = Callable[[str], None]
log = structlog.get_logger(__name__)


def serve(say: Say, *, prepare_first: bool) -> None:
    """Run the site until it is told to stop. Raises ServeFailed with a line that says what to do."""
    began = time.monotonic()
    with listen(settings.HOST, settings.PORT) as listener:
        port = listener.getsockname()[1]
        try:
            if prepare_first:
                prepare(say)
            valkey = _valkey()
        except (PrepareFailed, ValkeyFailed) as error:
            raise ServeFailed(str(error)) from error
        worker, web = _worker(port), _web(port, listener)
        Supervisor(
            [*valkey, worker, web],
            ready=lambda: _ready(port, worker.pid),
            on_ready=lambda: _announce(say, port, time.monotonic() - began),
            prefixed=settings.LOG_FORMAT == "console",
        ).run()


def _valkey() -> list[Child]:
    if not settings.EMBEDDED_VALKEY:
        if not queue_reachable():
            raise ServeFailed("The server that REDIS_URL names doesn't answer. Start it, or unset REDIS_URL.")
        return []
    server = EmbeddedValkey(Path(settings.VAR_DIR))
    return [Child("valkey", server.command(), answers=server.answers, stops_last=True)]


def _worker(port: int) -> Child:
    command = [sys.executable, "-m", "interview.serve.worker"]
    return Child("worker", command, environment=_environment(port), on_death=_release)


def _web(port: int, listener: socket.socket) -> Child:
    command = [sys.executable, "-m", "interview.serve.web", "--fd", str(listener.fileno())]
    # glibc gives each thread an arena of its own; two keep the web process small whatever pages it has served.
    environment = {"MALLOC_ARENA_MAX": "2", **_environment(port)}
    return Child("web", command, environment=environment, keep_fds=[listener.fileno()])


def _environment(port: int) -> dict[str, str]:
    return {**os.environ, "PORT": str(port), "PYTHONUNBUFFERED": "1"}


def _ready(port: int, worker_pid: int) -> dict[str, bool]:
    """As the site itself says, and by this very worker: one of an earlier start may still be listed."""
    parts = readiness(settings.HOST, port, known_host(settings.ALLOWED_HOSTS))
    try:
        report = client().hget(PRESENCE_KEY, worker_name(worker_pid))
    except LOST:
        report = None
    return {**parts, "worker": report is not None and bool(json.loads(str(report))["ready"])}


def _release(pid: int) -> None:
    """The runs of a dead worker go back to the queue at once, without waiting for their lease to end."""
    try:
        client().hdel(PRESENCE_KEY, worker_name(pid))
        runs.runs_release(worker=worker_name(pid))
    except (DatabaseError, *LOST):
        log.warning("release_left_to_the_reaper", worker_pid=pid, exc_info=True)
    finally:
        close_old_connections()


def _announce(say: Say, port: int, seconds: float) -> None:
    host = reachable(settings.HOST)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    say(f"\nPrefill is ready after {seconds:.1f} s: {address}")
    if settings.HTTPS:
        say("HTTPS is on: browsers must come through a proxy that speaks TLS (HTTPS=off for plain http).")
    if settings.DEMO:
        from interview.accounts.services import demo_sign_ins

        say("Demo sign-ins:")
        for email, password in demo_sign_ins():
            say(f"  {email:<22} {password}")
    say("Stop with Ctrl-C.\n")
