"""Is it alive, is it ready, how is it doing."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from interview.runs import selectors as runs


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """The web process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Database, queue and a worker with its model loaded; 503 names what is missing."""
    parts = {"database": _database(), "queue": runs.queue_reachable(), "worker": runs.worker_ready()}
    status = 200 if all(parts.values()) else 503
    return JsonResponse({"status": "ok" if status == 200 else "not ready", **parts}, status=status)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
