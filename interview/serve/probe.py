"""Ask a running site whether it is ready. As a program: exit status 0 when it is (for container health checks)."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import time
from collections.abc import Sequence


def readiness(host: str, port: int, host_header: str, *, timeout: float = 2.0) -> dict[str, bool]:
    """What /healthz/ready says of each part; only {"web": False} while no web process answers."""
    connection = http.client.HTTPConnection(reachable(host), port, timeout=timeout)
    try:
        connection.request("GET", "/healthz/ready", headers={"Host": host_header})
        answer = connection.getresponse()
        parts = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError):
        return {"web": False}
    finally:
        connection.close()
    return {"web": True, **{name: state for name, state in parts.items() if isinstance(state, bool)}}


def reachable(host: str) -> str:
    """The address to call for an address that was listened on."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def known_host(allowed: Sequence[str]) -> str:
    """A Host header that the site accepts."""
    return next((name.lstrip(".") for name in allowed if name != "*"), "localhost")


def worker_here() -> bool:
    """Whether a worker of this very machine (or container) reported lately that its models are loaded."""
    import django

    django.setup()
    from interview.runs.connection import LOST, client
    from interview.runs.selectors import PRESENCE_KEY, PRESENCE_SECONDS

    try:
        reports = client().hgetall(PRESENCE_KEY)
    except LOST:
        return False
    mine = [json.loads(str(report)) for name, report in reports.items() if _is_here(str(name))]
    return any(report["ready"] and time.time() - report["at"] < PRESENCE_SECONDS for report in mine)


def _is_here(worker: str) -> bool:
    return worker.rpartition(":")[0] == socket.gethostname()


def main(words: list[str]) -> int:
    """`probe` asks the web process for everything, `probe web queue` for these parts, `probe worker-here` for a worker."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview.settings")
    from django.conf import settings

    if words == ["worker-here"]:
        parts = {"worker-here": worker_here()}
    else:
        parts = readiness(settings.HOST, settings.PORT, known_host(settings.ALLOWED_HOSTS))
        parts = {name: parts.get(name, False) for name in words or parts}
    print(json.dumps(parts))
    return 0 if all(parts.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
