"""JSON of documents: upload, list, read, delete."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Annotated

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Field, File, Query, Router, Schema, Status
from ninja.files import UploadedFile

from interview.accounts.api_auth import session_or_token
from interview.accounts.models import User
from interview.documents import selectors, services, uploading
from interview.documents.models import RETRYABLE, Document

router = Router(tags=["documents"], auth=session_or_token)
PAGE = 100


class DocumentOut(Schema):
    """A document; `reason` says why it failed (no_text, encrypted, empty, unsupported_type, too_large, …)."""

    id: uuid.UUID
    name: str
    state: str
    reason: str
    detail: str
    stage: str
    kind: str
    encoding: str
    size: int
    sha256: str
    pages: int
    passages: int
    version: int
    created: datetime
    ready: datetime | None
    run: uuid.UUID | None
    own: bool
    url: str


class OutcomeOut(Schema):
    """What became of one uploaded file: added, known, retried or refused."""

    name: str
    outcome: str
    reason: str
    message: str
    document: DocumentOut | None


class UploadOut(Schema):
    """The outcome of every file, in the order they came."""

    files: list[OutcomeOut]


class Part(Schema):
    """Which part of a list."""

    limit: int = Field(PAGE, ge=1, le=PAGE)
    offset: int = Field(0, ge=0, le=10**6)


class DocumentList(Schema):
    """A part of the documents one may read."""

    total: int
    items: list[DocumentOut]


def document_out(document: Document, reader: User) -> DocumentOut:
    """A document as JSON."""
    return DocumentOut(
        id=document.pk,
        name=document.name,
        state=document.state,
        reason=document.reason,
        detail=document.detail,
        stage=document.stage,
        kind=document.kind,
        encoding=document.encoding,
        size=document.size,
        sha256=document.sha256,
        pages=document.n_pages,
        passages=document.n_passages,
        version=document.version,
        created=document.created,
        ready=document.ready,
        run=document.run_id if document.owner_id == reader.pk else None,
        own=document.owner_id == reader.pk,
        url=reverse("documents:document", args=[document.pk]),
    )


def _reader(request: HttpRequest) -> User:
    return request.auth  # type: ignore[attr-defined, no-any-return]


@router.post("/documents", response={202: UploadOut, 413: UploadOut, 422: UploadOut, 503: UploadOut})
def document_create(
    request: HttpRequest,
    files: list[UploadedFile] = File(None, description="One file or several; `file` works too."),  # type: ignore[type-arg]  # noqa: B008
) -> Status[UploadOut]:
    """Upload files (multipart, at most DOCUMENT_MAX_MB each); the same file again is the same document."""
    owner = _reader(request)
    outcomes = uploading.take(request, owner)
    out = UploadOut(
        files=[
            OutcomeOut(
                name=outcome.name,
                outcome=outcome.state,
                reason=outcome.reason,
                message=outcome.message,
                document=document_out(outcome.document, owner) if outcome.document else None,
            )
            for outcome in outcomes
        ]
    )
    if any(outcome.document for outcome in outcomes):
        return Status(202, out)
    if outcomes and all(outcome.reason == "too_large" for outcome in outcomes):
        return Status(413, out)
    if any(outcome.reason == RETRYABLE for outcome in outcomes):
        return Status(503, out)
    return Status(422, out)


@router.get("/documents", response=DocumentList)
def document_list(request: HttpRequest, part: Annotated[Part, Query()]) -> DocumentList:
    """Documents one may read, newest first."""
    reader = _reader(request)
    found = selectors.readable_documents(reader)
    items = [document_out(document, reader) for document in found[part.offset : part.offset + part.limit]]
    return DocumentList(total=found.count(), items=items)


@router.get("/documents/{document_id}", response=DocumentOut)
def document(request: HttpRequest, document_id: uuid.UUID) -> DocumentOut:
    """A document one may read."""
    reader = _reader(request)
    found = selectors.readable_get(document_id, reader)
    if found is None:
        raise Http404("No such document.")
    return document_out(found, reader)


@router.delete("/documents/{document_id}", response={204: None})
def document_delete(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """Delete one of one's own documents with its file, passages and index."""
    found = selectors.document_get(document_id, _reader(request))
    if found is None:
        raise Http404("No such document.")
    services.document_delete(found)
    return HttpResponse(status=204)
