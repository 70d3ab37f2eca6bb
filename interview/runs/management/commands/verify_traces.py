"""`manage.py verify_traces`: is every trace what it was when it was written?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from interview.runs.chain import chain_verify


class Command(BaseCommand):
    help = "Walk the chain of traces. Exit status 1 and a line for each fault where something was changed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
        parser.add_argument(
            "--head", help="a hash noted earlier that must be in the chain: nothing was cut off since"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        report = chain_verify(known=options["head"])
        if options["json"]:
            self.stdout.write(json.dumps(asdict(report)))
        else:
            gone = ", ".join(f"{count} erased ({reason})" for reason, count in report.erased.items())
            self.stdout.write(f"{report.links} links, {report.traces} traces{', ' + gone if gone else ''}")
            self.stdout.write(f"head {report.head}")
        if report.faults:
            raise CommandError("\n".join(report.faults))
