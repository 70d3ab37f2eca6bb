"""`manage.py prune_traces`: erase what is older than TRACE_RETENTION_DAYS (a worker does it hourly too)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from interview.runs.retention import runs_prune


class Command(BaseCommand):
    help = "Erase texts and traces of runs that ended longer ago than TRACE_RETENTION_DAYS; the chain stays."

    def handle(self, *args: Any, **options: Any) -> None:
        erased = 0
        while batch := runs_prune():
            erased += batch
        self.stdout.write(f"{erased} runs erased")
