"""`manage.py load_questions`: check every file of the bank, then bring the database in line with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from interview.questions.loader import BankErrors, load_bank
from interview.questions.services import bank_sync

BANK = Path(__file__).resolve().parent.parent.parent / "bank"


class Command(BaseCommand):
    help = "Check the question bank's files and load them; questions that left the files are retired."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", nargs="?", type=Path, default=BANK)
        parser.add_argument("--check", action="store_true", help="only check the files")

    def handle(self, *args: Any, folder: Path, check: bool, **options: Any) -> None:
        try:
            bank = load_bank(folder)
        except BankErrors as errors:
            raise CommandError(f"{errors}\n{len(errors.errors)} faults; nothing was loaded.") from errors
        if check:
            self.stdout.write(f"{len(bank.questions)} questions in {len(bank.topics)} topics, no fault.")
            return
        done = bank_sync(bank)
        self.stdout.write(
            f"{done.questions} questions in {done.topics} topics; "
            f"{done.new_rubrics} new rubric versions, {done.retired} retired."
        )
