"""`manage.py prepare`: everything that must be there before the site starts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from interview.serve.prepare import STEPS, PrepareFailed, prepare


class Command(BaseCommand):
    help = "Migrate, load the questions, make the demo accounts (DEMO), collect static files, prepare the models."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("steps", nargs="*", help=f"only these steps, of {', '.join(STEPS)}")

    def handle(self, *args: Any, **options: Any) -> None:
        unknown = set(options["steps"]) - set(STEPS)
        if unknown:
            raise CommandError(f"No step is called {', '.join(unknown)}. Steps: {', '.join(STEPS)}.")
        try:
            prepare(lambda line: print(line, flush=True), options["steps"])
        except PrepareFailed as error:
            raise CommandError(str(error)) from error
