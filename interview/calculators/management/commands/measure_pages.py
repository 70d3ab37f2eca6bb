"""`manage.py measure_pages`: requests per second of every calculator page against an empty Django page, in one run."""

from __future__ import annotations

import json
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path

from interview.calculators.formulas.registry import CALCULATORS


def empty(request: HttpRequest) -> HttpResponse:
    """Nothing, through the same middleware."""
    return HttpResponse()


urlpatterns = [path("empty/", empty), path("", include("interview.urls"))]


class Command(BaseCommand):
    """Counts CPU time, so that other work on the machine matters little."""

    help = "Requests per CPU second of the calculator pages and of an empty page"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds a page")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        host = [*settings.ALLOWED_HOSTS, "testserver"]
        with override_settings(ROOT_URLCONF=__name__, ALLOWED_HOSTS=host):
            rows = measure(options["seconds"])
        if options["json"]:
            self.stdout.write(json.dumps(rows))
            return
        self.stdout.write(f"{'page':<16}{'requests/s':>12}{'of empty':>10}{'first time':>12}{'of empty':>10}")
        for row in rows:
            self.stdout.write(
                f"{row['page']:<16}{row['again']:>12.0f}{row['again_ratio']:>10.2f}"
                f"{row['first']:>12.0f}{row['first_ratio']:>10.2f}"
            )


def measure(seconds: float) -> list[dict[str, Any]]:
    """The empty page, then each calculator: its link opened again, and opened the first time (a new address each)."""
    client = Client()
    base = rate(client, "/empty/", seconds)
    rows = [{"page": "empty", "again": base, "again_ratio": 1.0, "first": base, "first_ratio": 1.0}]
    for slug in CALCULATORS:
        again = rate(client, f"/calculators/{slug}/", seconds)
        first = rate(client, f"/calculators/{slug}/?v=1&embed=", seconds, fresh=True)
        rows.append(
            {
                "page": slug,
                "again": again,
                "again_ratio": again / base,
                "first": first,
                "first_ratio": first / base,
            }
        )
    return rows


def rate(client: Client, address: str, seconds: float, *, fresh: bool = False) -> float:
    """Requests per CPU second; `fresh` makes every address one that was never opened."""
    done = 0
    for warm in range(3):
        client.get(f"{address}{warm}w" if fresh else address)
    started = time.process_time()
    while time.process_time() - started < seconds:
        if client.get(f"{address}{done}" if fresh else address).status_code != 200:
            raise RuntimeError(f"{address} did not answer 200")
        done += 1
    return done / (time.process_time() - started)
