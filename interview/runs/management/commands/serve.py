"""`manage.py serve`: the whole site on one machine."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from interview.serve.listen import ServeFailed
from interview.serve.site import serve


class Command(BaseCommand):
    help = "Start Valkey (unless REDIS_URL is set), web and worker; restart what dies; end all on Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--prepare", action="store_true", help="migrate, load the questions and prepare the models first"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            serve(lambda line: print(line, flush=True), prepare_first=options["prepare"])
        except ServeFailed as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            sys.exit(130)
