"""`manage.py calculate kv-cache model=… tokens=4096 [--json]`: a calculation from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from interview.calculators.api import errors
from interview.calculators.formulas.calculator import Calculator
from interview.calculators.formulas.kv_config import ConfigReading
from interview.calculators.formulas.parameters import InputErrors
from interview.calculators.formulas.registry import CALCULATORS, Outcome, UnknownCalculator, find, run
from interview.calculators.formulas.units import number_text


class Command(BaseCommand):
    """Computes with the same formulas and parameters as the page."""

    help = "Run a calculator: calculate SLUG key=value… [--json] [--config FILE]"
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help=f"one of {', '.join(CALCULATORS)}")
        parser.add_argument("parameters", nargs="*", help="name=value, or name=@file for text")
        parser.add_argument("--json", action="store_true", help="print the JSON of the API")
        parser.add_argument("--config", help="read the model from a config.json (- is stdin)")

    def handle(self, *args: Any, **options: Any) -> None:
        outcome = self._outcome(options)
        if outcome.errors:
            if options["json"]:
                self.stdout.write(json.dumps(errors(outcome, "query"), ensure_ascii=True))
            lines = [f"{e.name}: {e.message}" for e in outcome.errors]
            raise CommandError("\n".join(lines).encode("utf-8", "replace").decode())
        url = f"{settings.SITE_URL}{reverse('calculators:show', args=[outcome.calculator.slug])}?{outcome.query}"
        if options["json"]:
            self.stdout.write(json.dumps(outcome.to_dict(url), ensure_ascii=False, indent=2))
        else:
            self._say(outcome, url)

    def _outcome(self, options: dict[str, Any]) -> Outcome:
        try:
            calculator = find(options["slug"])
            reading = _config(calculator, options["config"])
            given = reading.fields | _pairs(options["parameters"])
        except UnknownCalculator as unknown:
            raise CommandError(str(unknown.args[0])) from unknown
        except UnicodeDecodeError as wrong:
            raise CommandError("the file is not UTF-8 text; give a text file") from wrong
        except (OSError, InputErrors) as wrong:
            raise CommandError(str(wrong)) from wrong
        # On stderr, so that what is printed stays the JSON of the contract.
        for notice in reading.noticed:
            self.stderr.write(f"config: {notice}")
        return run(calculator, given)

    def _say(self, outcome: Outcome, url: str) -> None:
        assert outcome.result
        self.stdout.write(f"{outcome.calculator.title}: {outcome.result.headline}\n")
        for step in outcome.result.steps:
            self.stdout.write(f"  {step.label}: {step.expression} = {number_text(step.value)} {step.unit}")
        for warning in outcome.result.warnings:
            self.stdout.write(f"  ! {warning}")
        self.stdout.write(f"  {url}")


def _pairs(parameters: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals:
            raise CommandError(f"{parameter!r} is not name=value")
        pairs[name] = Path(value[1:]).read_text("utf-8") if value.startswith("@") else value
    return pairs


def _config(calculator: Calculator, path: str | None) -> ConfigReading:
    if path is None:
        return ConfigReading({}, ())
    if calculator.from_config is None:
        raise CommandError(f"{calculator.slug} reads no config.json: leave --config out")
    return calculator.from_config(sys.stdin.read() if path == "-" else Path(path).read_text("utf-8"))
