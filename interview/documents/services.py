"""Writes of documents: take a file, have it read, stop, try again, delete; collections."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage, default_storage
from django.db import IntegrityError, transaction

from interview.accounts.models import User
from interview.documents import selectors
from interview.documents.models import CANCELLED, FAILED, UPLOADED, Collection, Document
from interview.plain_text import INVISIBLE, storable
from interview.runs.models import ENDED, QUEUED, RUNNING, Run
from interview.runs.services import run_cancel, run_create

KIND = "document"
AT_ONCE = 4  # documents queued or being read at a time, of everybody: the rest wait their turn
MEGABYTE = 1_000_000
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Outcome:
    """What became of one uploaded file: `added`, `known` (its owner has it already), `retried` or `refused`."""

    name: str
    state: str
    document: Document | None = None
    reason: str = ""
    message: str = ""


def limits() -> dict[str, int]:
    """What may be uploaded, as the page says it."""
    return {
        "file_mb": settings.DOCUMENT_MAX_MB,
        "documents": settings.DOCUMENTS_PER_USER,
        "user_mb": settings.DOCUMENTS_USER_MB,
        "collection": settings.DOCUMENTS_PER_COLLECTION,
    }


def shown_name(name: str) -> str:
    """The name as given, without path and control characters; names in any script stay as they are."""
    name = storable(name).replace("\\", "/").rpartition("/")[2]
    name = "".join(letter for letter in name if letter.isprintable() or INVISIBLE.fullmatch(letter))
    name = " ".join(name.split())
    return name[-255:] if INVISIBLE.sub("", name) else "unnamed"


def document_add(
    *, owner: User, file: File[bytes], name: str, collection: Collection | None = None
) -> Outcome:
    """Store an uploaded file once per owner and content, and have it read. Never raises for a bad file."""
    name = shown_name(name)
    size = int(file.size or 0)
    if refusal := _refused_at_the_door(name, size):
        return refusal
    sha256 = _digest(file)
    try:
        outcome = _store(owner, file, name, size, sha256)
    except IntegrityError:  # the same file, at the same time
        known = Document.objects.get(owner=owner, sha256=sha256)
        outcome = _known(known, name)
    if outcome.document is not None and collection is not None:
        outcome = _placed(outcome, collection)
    return outcome


def _refused_at_the_door(name: str, size: int) -> Outcome | None:
    if size == 0:
        return Outcome(name, "refused", reason="empty", message="The file is empty: it has 0 bytes.")
    if size > settings.DOCUMENT_MAX_MB * MEGABYTE:
        message = (
            f"It has {size / MEGABYTE:,.1f} MB; {settings.DOCUMENT_MAX_MB} MB is the limit. Split the file."
        )
        return Outcome(name, "refused", reason="too_large", message=message)
    return None


def _digest(file: File[bytes]) -> str:
    digest = hashlib.sha256()
    for block in file.chunks():
        digest.update(block)
    file.seek(0)
    return digest.hexdigest()


def _store(owner: User, file: File[bytes], name: str, size: int, sha256: str) -> Outcome:
    """Row first, file second, both or neither: the loser of a race has written no bytes."""
    saved: str | None = None
    storage = default_storage
    try:
        with transaction.atomic():
            # The owner's row is locked so that two uploads at once can't both be the last one allowed.
            User.objects.select_for_update().get(pk=owner.pk)
            if known := Document.objects.filter(owner=owner, sha256=sha256).first():
                return _known(known, name)
            if refusal := _over_limit(owner, name, size):
                return refusal
            document = Document(owner=owner, name=name, sha256=sha256, size=size)
            document.file.name = f"documents/{document.pk}"
            document.save(force_insert=True)
            saved = storage.save(document.file.name, file)
            if saved != document.file.name:
                document.file.name = saved
                document.save(update_fields=["file"])
            transaction.on_commit(documents_dispatch)
    except BaseException:
        if saved:
            storage.delete(saved)
        raise
    return Outcome(name, "added", document)


def _over_limit(owner: User, name: str, size: int) -> Outcome | None:
    used = selectors.usage(owner)
    if used.n_documents >= settings.DOCUMENTS_PER_USER:
        message = f"You have {used.n_documents} documents, and {settings.DOCUMENTS_PER_USER} is the limit. Delete one first."
    elif used.n_bytes + size > settings.DOCUMENTS_USER_MB * MEGABYTE:
        message = (
            f"Your documents would take {(used.n_bytes + size) / MEGABYTE:,.1f} MB; "
            f"{settings.DOCUMENTS_USER_MB} MB is the limit. Delete one first."
        )
    else:
        return None
    return Outcome(name, "refused", reason="over_limit", message=message)


def _known(known: Document, name: str) -> Outcome:
    """The same bytes again: the document that is there; one that failed or was stopped is tried again."""
    if known.state in (FAILED, CANCELLED):
        document_retry(known)
        return Outcome(
            name, "retried", known, message=f"You have this file as “{known.name}”. It is read again."
        )
    return Outcome(name, "known", known, message=f"You have this file already, as “{known.name}”.")


def _placed(outcome: Outcome, collection: Collection) -> Outcome:
    assert outcome.document is not None
    try:
        collection_put(collection=collection, document=outcome.document)
    except CollectionFull as full:
        return Outcome(outcome.name, outcome.state, outcome.document, message=str(full))
    return outcome


def documents_dispatch() -> int:
    """Queue waiting documents, oldest first and one an owner in turn, while fewer than AT_ONCE are under way."""
    started = 0
    under_way = Run.objects.filter(kind=KIND, state__in=[QUEUED, RUNNING]).count()
    while under_way + started < AT_ONCE and (document := _next_waiting()):
        started += _start(document)
    return started


def _next_waiting() -> Document | None:
    waiting = Document.objects.filter(state=UPLOADED, run=None).order_by("created")
    busy = Run.objects.filter(kind=KIND, state__in=[QUEUED, RUNNING]).values("owner")
    return waiting.exclude(owner__in=busy).first() or waiting.first()


@transaction.atomic
def _start(document: Document) -> int:
    locked = Document.objects.select_for_update().filter(pk=document.pk, state=UPLOADED, run=None).first()
    if locked is None:
        return 0
    locked.run = run_create(
        owner=locked.owner, kind=KIND, input={"document": str(locked.pk), "name": locked.name}
    )
    locked.save(update_fields=["run"])
    return 1


@transaction.atomic
def document_cancel(document: Document) -> Document:
    """Stop reading a document; one that has ended stays as it is."""
    waiting = Document.objects.filter(pk=document.pk, state=UPLOADED, run=None)
    if not waiting.update(state=CANCELLED, stage=""):
        _stop_run(document)
    document.refresh_from_db()
    return document


def _stop_run(document: Document) -> None:
    """Cancel the run under way. The run's row is taken before the document's, as a worker that ends it does."""
    run = Run.objects.filter(pk__in=Document.objects.filter(pk=document.pk).values("run")).first()
    if run is not None and run.state not in ENDED:
        run_cancel(run)


@transaction.atomic
def document_retry(document: Document) -> Document:
    """Read a document again that failed or was stopped; any other stays as it is."""
    again = Document.objects.filter(pk=document.pk, state__in=[FAILED, CANCELLED]).update(
        state=UPLOADED, reason="", detail="", stage="", run=None
    )
    if again:
        transaction.on_commit(documents_dispatch)
    document.refresh_from_db()
    return document


@transaction.atomic
def document_rebuild(document: Document) -> bool:
    """Make a new version of a document's pages and passages; the present one is searched until it is done."""
    locked = Document.objects.select_for_update().filter(pk=document.pk).exclude(state__in=[UPLOADED]).first()
    if locked is None or (locked.run is not None and locked.run.state not in ENDED):
        return False
    locked.run = run_create(
        owner=locked.owner, kind=KIND, input={"document": str(locked.pk), "name": locked.name}
    )
    locked.save(update_fields=["run"])
    return True


@transaction.atomic
def document_delete(document: Document) -> None:
    """Delete a document with its file, pages, passages and index, also while it is being read."""
    _stop_run(document)
    locked = Document.objects.select_for_update().filter(pk=document.pk).first()
    if locked is None:
        return
    storage, name = locked.file.storage, str(locked.file.name)
    locked.delete()
    transaction.on_commit(lambda: _delete_file(storage, name))
    transaction.on_commit(documents_dispatch)


def _delete_file(storage: Storage, name: str) -> None:
    try:
        storage.delete(name)
    except Exception:  # a bucket's client has errors of its own; the document is deleted all the same
        log.error("file_left_behind", name=name, exc_info=True)


@transaction.atomic
def documents_adopt(*, guest: User, user: User) -> int:
    """Before a guest's documents move to an account: a file both have stays as the account's; how many went."""
    mine = {document.sha256: document for document in Document.objects.filter(owner=user)}
    merged = 0
    for theirs in Document.objects.filter(owner=guest, sha256__in=mine):
        for collection in theirs.collections.all():
            collection.documents.add(mine[theirs.sha256])
        document_delete(theirs)
        merged += 1
    return merged


class CollectionFull(Exception):
    """A collection holds as many documents as one may."""


def collection_create(*, owner: User, name: str) -> Collection:
    """A new, empty collection."""
    return Collection.objects.create(owner=owner, name=storable(name).strip()[:120])


def collection_rename(collection: Collection, name: str) -> Collection:
    """Give a collection another name."""
    collection.name = storable(name).strip()[:120]
    collection.save(update_fields=["name"])
    return collection


@transaction.atomic
def collection_put(*, collection: Collection, document: Document) -> None:
    """Put a document of the collection's owner into it. Raises CollectionFull."""
    if document.owner_id != collection.owner_id:
        raise ValueError("A collection holds only documents of its own owner.")
    Collection.objects.select_for_update().get(pk=collection.pk)
    if collection.documents.exclude(pk=document.pk).count() >= settings.DOCUMENTS_PER_COLLECTION:
        raise CollectionFull(
            f"“{collection.name}” holds {settings.DOCUMENTS_PER_COLLECTION} documents; that is the limit for a "
            "collection and for the class that reads it. Take one out first."
        )
    collection.documents.add(document)


def collection_take(*, collection: Collection, document: Document) -> None:
    """Take a document out of a collection; the document stays."""
    collection.documents.remove(document)


def collection_delete(collection: Collection) -> None:
    """Delete a collection; its documents stay."""
    collection.delete()
