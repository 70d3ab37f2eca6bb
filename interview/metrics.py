"""/metrics in Prometheus' text format: what waits, what runs, who works. Off until METRICS_TOKEN is set."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from django.conf import settings
from django.db.models import Count, Min
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from interview.runs.models import QUEUED, RUNNING, Run
from interview.runs.selectors import queue_reachable, workers_present


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The queue, the workers and this process. 404 without a token in the settings, 401 without it in the request."""
    if not settings.METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    if not secrets.compare_digest(given.encode(), settings.METRICS_TOKEN.encode()):
        return HttpResponse("Send the METRICS_TOKEN as a bearer token.\n", "text/plain", 401)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Site())
    ProcessCollector(registry=registry)
    return HttpResponse(generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4)


class Site(Collector):
    """Counts taken when asked, from the database and from what the workers reported."""

    def collect(self) -> Iterator[Metric]:
        yield from _runs()
        yield from _workers()
        yield gauge("prefill_queue_reachable", "1 while Redis or Valkey answers", float(queue_reachable()))


def gauge(name: str, documentation: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, documentation, value=value)


def _runs() -> Iterator[Metric]:
    counts = GaugeMetricFamily("prefill_runs", "Runs by kind and state", labels=["kind", "state"])
    for row in Run.objects.order_by().values("kind", "state").annotate(n=Count("pk")):
        counts.add_metric([row["kind"], row["state"]], row["n"])
    yield counts
    for state, since in ((QUEUED, "created"), (RUNNING, "started")):
        oldest = Run.objects.filter(state=state).aggregate(at=Min(since))["at"]
        seconds = max(0.0, (timezone.now() - oldest).total_seconds()) if oldest else 0.0
        yield gauge(
            f"prefill_oldest_{state}_seconds", f"Age of the oldest {state} run, 0 without one", seconds
        )


def _workers() -> Iterator[Metric]:
    workers = workers_present()
    ready = sum(bool(worker["ready"]) for worker in workers)
    yield gauge("prefill_workers", "Workers that reported lately", len(workers))
    yield gauge("prefill_workers_ready", "… and have their model loaded", ready)
    yield gauge("prefill_worker_jobs", "Runs that workers are on", sum(worker["jobs"] for worker in workers))
