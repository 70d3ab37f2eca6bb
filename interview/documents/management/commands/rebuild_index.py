"""`manage.py rebuild_index`: queue a new version of every document whose passages were made by another version."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from interview.documents.chunking import INDEX_VERSION
from interview.documents.models import Document
from interview.documents.services import document_rebuild


class Command(BaseCommand):
    """Queue rebuilds; a worker does them, and each document is searched as it was until its new version is whole."""

    help = "Queue a new index for documents whose index is of another version (--all: for every one)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="also those that are up to date")

    def handle(self, *args: Any, **options: Any) -> None:
        documents = Document.objects.filter(version__gt=0)
        if not options["all"]:
            documents = documents.exclude(index_version=INDEX_VERSION)
        queued = sum(document_rebuild(document) for document in documents.iterator())
        self.stdout.write(f"{queued} of {len(documents)} documents queued for a new index.")
