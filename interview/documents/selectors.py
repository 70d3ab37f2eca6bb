"""Reads of documents. Everything starts from what the asker may read; there is no other way in."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet, Sum

from interview.accounts.models import User
from interview.documents import sharing
from interview.documents.models import PROCESSING, READY, UPLOADED, Collection, Document, Page


def document_list(owner: User) -> QuerySet[Document]:
    """One's own documents, newest first."""
    return Document.objects.filter(owner=owner)


def document_get(document_id: uuid.UUID, owner: User | None) -> Document | None:
    """A document of this owner, or None."""
    return document_list(owner).filter(pk=document_id).first() if owner else None


def readable_documents(user: User) -> QuerySet[Document]:
    """Documents a user may read: their own, and those in collections shared with them."""
    shared = Collection.documents.through.objects.filter(
        collection__in=readable_collections(user).exclude(owner=user)
    )
    return Document.objects.filter(Q(owner=user) | Q(pk__in=shared.values("document")))


def readable_get(document_id: uuid.UUID, user: User | None) -> Document | None:
    """A document the user may read, or None: whether it exists for others stays private."""
    return readable_documents(user).filter(pk=document_id).first() if user else None


def searchable_documents(user: User) -> QuerySet[Document]:
    """Readable documents with a finished index (one that is being rebuilt keeps its last one)."""
    return readable_documents(user).filter(version__gt=0)


def collection_list(owner: User) -> QuerySet[Collection]:
    """One's own collections with the number of their documents."""
    return Collection.objects.filter(owner=owner).annotate(n_documents=Count("documents"))


def readable_collections(user: User) -> QuerySet[Collection]:
    """Collections a user may read."""
    return Collection.objects.filter(sharing.readable(user)).distinct()


def collection_get(collection_id: uuid.UUID, user: User | None) -> Collection | None:
    """A collection the user may read, or None."""
    return readable_collections(user).filter(pk=collection_id).first() if user else None


def own_collection(collection_id: uuid.UUID, owner: User | None) -> Collection | None:
    """A collection of this owner, or None."""
    return Collection.objects.filter(owner=owner, pk=collection_id).first() if owner else None


@dataclass(frozen=True)
class Usage:
    """What an owner's documents take."""

    n_documents: int
    n_bytes: int
    n_busy: int


def usage(owner: User) -> Usage:
    """Number and bytes of an owner's documents, and how many are being read."""
    found = document_list(owner).aggregate(
        n=Count("pk"), size=Sum("size"), busy=Count("pk", filter=Q(state__in=[UPLOADED, PROCESSING]))
    )
    return Usage(found["n"], found["size"] or 0, found["busy"])


def page_get(document: Document, number: int) -> Page | None:
    """A page of the version that counts."""
    return Page.objects.filter(document=document, version=document.version, number=number).first()


def page_at(document: Document, offset: int) -> Page | None:
    """The page that holds a character of the whole text."""
    pages = Page.objects.filter(document=document, version=document.version)
    return pages.filter(start__lte=offset).order_by("-number").first() or pages.first()


def ready_count(user: User) -> int:
    """How many documents a user can ask."""
    return searchable_documents(user).filter(state=READY).count()


def page_labels(wanted: list[tuple[uuid.UUID, int]]) -> dict[tuple[uuid.UUID, int], str]:
    """What pages are called, by (document, number)."""
    documents = {document for document, _ in wanted}
    pages = Page.objects.filter(
        document__in=documents, number__in={number for _, number in wanted}, version=F("document__version")
    )
    return {(d, n): label for d, n, label in pages.values_list("document", "number", "label")}
