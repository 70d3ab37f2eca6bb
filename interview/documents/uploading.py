"""Taking uploads: a file past the limit is dropped while it comes in, and the others of the form go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import structlog
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest

from interview.accounts.models import User
from interview.documents import services
from interview.documents.models import RETRYABLE, Collection

FIELDS = ("files", "file")
log = structlog.get_logger(__name__)


class SizeLimit(FileUploadHandler):
    """First of the upload handlers: counts each file's bytes and notes the name of one that is too large."""

    def new_file(self, *arguments: Any, **keywords: Any) -> None:
        super().new_file(*arguments, **keywords)
        self.received = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self.received += len(raw_data)
        if self.received > settings.DOCUMENT_MAX_MB * services.MEGABYTE:
            note_oversized(self.request, self.file_name or "")
            raise SkipFile
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None


def note_oversized(request: HttpRequest | None, name: str) -> None:
    """Remember the name of a dropped file on its request."""
    if request is not None:
        request.__dict__.setdefault("oversized", []).append(name)


def oversized(request: HttpRequest) -> list[str]:
    """Names of the files that were dropped for their size."""
    return list(request.__dict__.get("oversized", []))


def uploaded(request: HttpRequest) -> Iterator[UploadedFile[bytes]]:
    """The files of a form."""
    for field in FIELDS:
        yield from request.FILES.getlist(field)


def take(request: HttpRequest, owner: User, collection: Collection | None = None) -> list[services.Outcome]:
    """Every file of a request with its outcome, in order; the dropped ones last."""
    outcomes = [_added(owner, file, collection) for file in uploaded(request)]
    message = f"It has more than {settings.DOCUMENT_MAX_MB} MB; that is the limit. Split the file."
    outcomes += [
        services.Outcome(services.shown_name(name), "refused", reason="too_large", message=message)
        for name in oversized(request)
    ]
    return outcomes


def _added(owner: User, file: UploadedFile[bytes], collection: Collection | None) -> services.Outcome:
    try:
        return services.document_add(owner=owner, file=file, name=file.name or "", collection=collection)
    except Exception:  # a full disk, a bucket that can't be reached: one file's trouble, and not its fault
        log.exception("file_not_stored", size=file.size)
        message = "It could not be stored. That was our fault: send it again in a while."
        name = services.shown_name(file.name or "")
        return services.Outcome(name, "refused", reason=RETRYABLE, message=message)
