"""Is it alive, is it ready, how is it doing."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from interview.runs import selectors as runs


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The web process answers."""
    return JsonResponse({"status": "ok"})


@require_GET
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


class QueueCollector(Collector):
    """Figures of the queue, read when they are asked for: every web process tells the same."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        counts = GaugeMetricFamily("prefill_runs", "Runs in the database", labels=["kind", "state"])
        for kind, state, count in runs.run_counts():
            counts.add_metric([kind, state], count)
        yield counts
        workers = runs.workers_present()
        yield GaugeMetricFamily(
            "prefill_workers_ready", "Workers ready", value=sum(w["ready"] for w in workers)
        )
        yield GaugeMetricFamily("prefill_jobs", "Runs being worked on", value=sum(w["jobs"] for w in workers))
        yield GaugeMetricFamily(
            "prefill_queue_reachable", "Redis answers", value=float(runs.queue_reachable())
        )


@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus metrics, for the bearer of METRICS_TOKEN, or for loopback addresses where none is set."""
    if not _may_read_metrics(request):
        raise Http404("Nothing here.")
    registry = CollectorRegistry()
    registry.register(QueueCollector())
    return HttpResponse(
        generate_latest(REGISTRY) + generate_latest(registry), content_type=CONTENT_TYPE_LATEST
    )


def _may_read_metrics(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return secrets.compare_digest(given.encode(), settings.METRICS_TOKEN.encode())
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
