"""What the worker does with an uploaded file: have a child read it, cut it into passages, embed them.

Pages and passages are written under a new version that nothing searches; ending the run makes it the one that counts, in
the same transaction (`index_ended`). So a cancel, a crash or a deletion at any moment leaves nothing half-searchable.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from interview.documents import reading
from interview.documents.chunking import INDEX_VERSION, Piece, passages
from interview.documents.models import (
    CANCELLED,
    FAILED,
    PROCESSING,
    READY,
    RETRYABLE,
    Document,
    Page,
    Passage,
)
from interview.documents.parsing.outcome import NO_TEXT, PAGE_BREAK
from interview.documents.services import documents_dispatch
from interview.runs import models as runs
from interview.runs.kinds import JSON, Interrupted, Job, RunFailed

if TYPE_CHECKING:
    from engine.embeddings import Embedder

BATCH = 32  # passages embedded between two looks at the cancel flag
STAGE_SECONDS = 0.5
LINE_KINDS = {"csv", "docx", "html"}
GONE = "The document was deleted while it was being read."
OUR_FAULT = "Something of ours failed while reading it. The file is kept; try again in a while."
log = structlog.get_logger(__name__)


def index(job: Job) -> JSON:
    """Read, cut and embed one document; its new version, not yet the one that counts."""
    document = _begin(job)
    started = time.perf_counter()
    try:
        found = _read(job, document)
        text, pages = _pages(found)
        pieces = _pieces(found, text, [start for start, _, _ in pages])
        if not pieces:
            raise reading.Unreadable(NO_TEXT, "It holds no text that could be searched.")
        parsed_at = time.perf_counter()
        vectors = _vectors(job, document, text, pieces)
        version = _stage_version(job, document, text, pages, pieces, vectors)
    except reading.Halted:
        if job.stopping.is_set() and not job.cancelled.is_set():
            raise Interrupted from None
        return {}
    except reading.Unreadable as refused:
        raise _failed(job, document, refused.reason, refused.detail) from refused
    except (Interrupted, RunFailed):
        raise
    except Exception as error:  # storage, embedder or database: ours to mend, the file may be fine
        log.exception("document_failed", document=str(document.pk))
        job.trace["error"] = repr(error)
        raise _failed(job, document, RETRYABLE, OUR_FAULT) from error
    ended = time.perf_counter()
    job.trace["timings"] = {
        "read_ms": round((parsed_at - started) * 1000, 1),
        "embed_ms": round((ended - parsed_at) * 1000, 1),
    }
    return {
        "document": str(document.pk),
        "version": version,
        "index_version": INDEX_VERSION,
        "kind": found["kind"],
        "encoding": found["encoding"],
        "note": found["note"],
        "n_pages": len(pages),
        "n_characters": len(text),
        "n_passages": len(pieces),
    }


def _begin(job: Job) -> Document:
    document = Document.objects.filter(run=job.run).first()
    if document is None:
        raise RunFailed(GONE)
    # Whatever an attempt that was lost left behind goes first.
    _drop_versions(document, but=document.version)
    changes = {"reason": "", "detail": "", "stage": "reading"}
    if document.version == 0:
        changes["state"] = PROCESSING
    Document.objects.filter(pk=document.pk, run=job.run).update(**changes)
    return document


def _drop_versions(document: Document, but: int) -> None:
    Passage.objects.filter(document=document).exclude(version=but).delete()
    Page.objects.filter(document=document).exclude(version=but).delete()


def _stage(job: Job, document: Document) -> Callable[[str], None]:
    """Says how far it is, twice a second at most."""
    said = [0.0]

    def say(words: str) -> None:
        if time.monotonic() - said[0] >= STAGE_SECONDS:
            said[0] = time.monotonic()
            Document.objects.filter(pk=document.pk, run=job.run).update(stage=words)

    return say


def _read(job: Job, document: Document) -> dict[str, Any]:
    say = _stage(job, document)
    with tempfile.TemporaryDirectory(prefix="prefill-document-") as folder:
        path = Path(folder) / "original"
        with document.file.storage.open(str(document.file.name)) as source, path.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        return reading.read(
            path,
            document.name,
            progress=lambda done, of: say(f"reading page {done} of {of}"),
            halted=lambda: job.halted,
        )


def _pages(found: dict[str, Any]) -> tuple[str, list[tuple[int, str, str]]]:
    """The whole text, and (start, label, text) of each page."""
    pages, at = [], 0
    for label, text in found["pages"]:
        pages.append((at, label, text))
        at += len(text) + len(PAGE_BREAK)
    return PAGE_BREAK.join(text for _, _, text in pages), pages


def _pieces(found: dict[str, Any], text: str, starts: list[int]) -> list[Piece]:
    headings = [(int(offset), int(level), str(words)) for offset, level, words in found["headings"]]
    own_pages = starts if found["kind"] == "pdf" else []
    return passages(text, headings, lines=found["kind"] in LINE_KINDS, pages=own_pages)


def _vectors(job: Job, document: Document, text: str, pieces: list[Piece]) -> list[bytes]:
    say = _stage(job, document)
    # Vectors are kept in half precision anyway.
    embedder: Embedder = job.models.embedder.halved()
    found: list[bytes] = []
    for first in range(0, len(pieces), BATCH):
        if job.halted:
            raise reading.Halted
        say(f"indexing passage {first + 1} of {len(pieces)}")
        batch = [
            embedded_text(piece.heading, text[piece.start : piece.end])
            for piece in pieces[first : first + BATCH]
        ]
        found += [row.astype("float16").tobytes() for row in embedder.encode(batch)]
    return found


def embedded_text(heading: str, text: str) -> str:
    """What a passage is searched by: its headings and its own words."""
    return f"{heading}\n{text}" if heading else text


def _stage_version(
    job: Job,
    document: Document,
    text: str,
    pages: list[tuple[int, str, str]],
    pieces: list[Piece],
    vectors: list[bytes],
) -> int:
    """Write pages and passages under the next version, in one transaction. Raises RunFailed when it was deleted."""
    version = document.version + 1
    starts = [start for start, _, _ in pages]
    try:
        with transaction.atomic():
            if not Document.objects.select_for_update().filter(pk=document.pk, run=job.run).exists():
                raise RunFailed(GONE)
            Page.objects.bulk_create(
                [
                    Page(document=document, version=version, number=n, label=label, start=start, text=words)
                    for n, (start, label, words) in enumerate(pages, 1)
                ],
                batch_size=200,
            )
            Passage.objects.bulk_create(
                [
                    Passage(
                        document=document,
                        version=version,
                        number=n,
                        start=piece.start,
                        end=piece.end,
                        page=_page_number(starts, piece.start),
                        heading=piece.heading,
                        text=text[piece.start : piece.end],
                        vector=vector,
                    )
                    for n, (piece, vector) in enumerate(zip(pieces, vectors, strict=True), 1)
                ],
                batch_size=200,
            )
    except IntegrityError as error:
        raise RunFailed(GONE) from error
    return version


def _page_number(starts: list[int], offset: int) -> int:
    """Number of the page that holds an offset."""
    return max(1, bisect_right(starts, offset))


def _failed(job: Job, document: Document, reason: str, detail: str) -> RunFailed:
    """Note why, for `index_ended`, and the error that ends the run."""
    job.trace["reason"] = reason
    Document.objects.filter(pk=document.pk, run=job.run).update(reason=reason, detail=detail[:300])
    document.reason, document.detail = reason, detail
    return RunFailed(document.reason_words)


def index_ended(run: runs.Run) -> None:
    """In the transaction that ends the run: make the new version the one that counts, or forget it."""
    document = Document.objects.select_for_update().filter(run=run).first()
    if document is not None and run.state == runs.SUCCEEDED and run.output:
        _swap(document, run.output)
    elif document is not None:
        _give_up(document, run)
    transaction.on_commit(documents_dispatch)


def _swap(document: Document, output: dict[str, Any]) -> None:
    document.version = output["version"]
    document.index_version = output["index_version"]
    document.kind, document.encoding = output["kind"], output["encoding"]
    document.n_pages, document.n_passages = output["n_pages"], output["n_passages"]
    document.n_characters = output["n_characters"]
    document.state, document.reason, document.detail, document.stage = READY, "", output["note"], ""
    document.ready = timezone.now()
    document.save()
    _drop_versions(document, but=document.version)


def _give_up(document: Document, run: runs.Run) -> None:
    _drop_versions(document, but=document.version)
    document.stage = ""
    if document.version > 0:  # a rebuild: the version before it stays
        document.state, document.reason = READY, ""
        document.detail = f"The last rebuild did not succeed: {run.reason or run.state}"[:300]
    elif run.state == runs.CANCELLED:
        document.state, document.reason, document.detail = CANCELLED, "", ""
    else:
        document.state = FAILED
        if not document.reason:  # lost with its worker, twice
            document.reason, document.detail = RETRYABLE, run.reason
    document.save()
