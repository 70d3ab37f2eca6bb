"""`manage.py flush` empties the whole database: the one place where the guards of the traces are lifted."""

from __future__ import annotations

from typing import Any

from django.core.management.commands.flush import Command as Flush

from interview.runs.guards import lifted


class Command(Flush):
    def handle(self, **options: Any) -> None:
        with lifted(options["database"]):
            super().handle(**options)
