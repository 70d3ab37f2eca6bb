"""Pages of the documents room: the list with its upload, a document with its pages."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview.accounts.owners import owner_of, owner_or_guest
from interview.documents import class_sharing, selectors, services, sharing, uploading, viewing
from interview.documents.forms import CollectionForm
from interview.documents.models import Collection, Document, Page
from interview.documents.services import Outcome

LEVELS = {"added": messages.SUCCESS, "retried": messages.SUCCESS, "known": messages.INFO}


def own_document(request: HttpRequest, document_id: uuid.UUID) -> Document:
    """A document of the visitor's own, or 404."""
    document = selectors.document_get(document_id, owner_of(request))
    if document is None:
        raise Http404("No such document.")
    return document


def readable_document(request: HttpRequest, document_id: uuid.UUID) -> Document:
    """A document the visitor may read, or 404."""
    document = selectors.readable_get(document_id, owner_of(request))
    if document is None:
        raise Http404("No such document.")
    return document


@require_http_methods(["GET", "HEAD", "POST"])
def document_list(request: HttpRequest) -> HttpResponse:
    """One's documents and the form that adds some; each file has its own outcome."""
    if request.method == "POST":
        return _upload(request)
    fragment = "#documents" if request.htmx else ""  # type: ignore[attr-defined]
    return render(request, f"documents/document_list.html{fragment}", _list_context(request))


def _list_context(request: HttpRequest) -> dict[str, object]:
    owner = owner_of(request)
    documents = list(selectors.document_list(owner)) if owner else []
    if any(document.busy and document.run_id is None for document in documents):
        services.documents_dispatch()
    return {
        "documents": documents,
        "busy": any(document.busy for document in documents),
        "searchable": any(document.version for document in documents),
        "usage": selectors.usage(owner) if owner else None,
        "collections": selectors.collection_list(owner) if owner else [],
        "shared": selectors.readable_collections(owner).exclude(owner=owner) if owner else [],
        "limits": services.limits(),
        "collection_form": CollectionForm(),
    }


def _upload(request: HttpRequest, collection: Collection | None = None) -> HttpResponse:
    outcomes = uploading.take(request, owner_or_guest(request), collection)
    if not outcomes:
        outcomes = [
            Outcome(
                "Nothing", "refused", message="No file was chosen. Choose one or more and send them again."
            )
        ]
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "documents/_outcomes.html", {"outcomes": outcomes})
    for outcome in outcomes:
        words = outcome.message or "It is read now; it can be asked as soon as it is ready."
        messages.add_message(request, LEVELS.get(outcome.state, messages.ERROR), f"{outcome.name}: {words}")
    if collection is not None:
        return redirect("documents:collection", collection_id=collection.pk)
    return redirect("documents:document_list")


@require_safe
def document(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """A document's text, a page at a time; `from` and `to` highlight what was cited."""
    found = readable_document(request, document_id)
    number, start, end = viewing.shown_page(found, request.GET.dict())
    page = selectors.page_get(found, number) if number else selectors.page_at(found, start)
    if number and page is None and found.version:
        raise Http404("No such page.")
    context = {
        "document": found,
        "own": found.owner == owner_of(request),
        "page": page,
        "pieces": viewing.pieces(page, start, end) if page else [],
        "cited": (start, end) if end > start else None,
        "next_cited": page is not None and end > page.start + len(page.text),
        "pages": _labels(found),
    }
    return render(request, "documents/document.html", context)


def _labels(document: Document) -> QuerySet[Page, tuple[int, str]]:
    pages = Page.objects.filter(document=document, version=document.version)
    return pages.values_list("number", "label")


@require_safe
def original(request: HttpRequest, document_id: uuid.UUID) -> HttpResponseBase:
    """The uploaded file, always as a download: nothing of it is ever shown or run here."""
    found = readable_document(request, document_id)
    try:
        content = found.file.storage.open(str(found.file.name))
    except FileNotFoundError as error:
        raise Http404("The stored file is gone.") from error
    response = FileResponse(
        content, as_attachment=True, filename=found.name, content_type="application/octet-stream"
    )
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
def cancel(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """Stop reading a document."""
    services.document_cancel(own_document(request, document_id))
    return redirect("documents:document_list")


@require_POST
def retry(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """Read a document again that failed or was stopped."""
    services.document_retry(own_document(request, document_id))
    return redirect("documents:document_list")


@require_POST
def delete(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """Delete a document with all that was made from it."""
    found = own_document(request, document_id)
    services.document_delete(found)
    messages.success(request, f"“{found.name}” is deleted, with its passages and its index.")
    return redirect("documents:document_list")


@require_POST
def collection_create(request: HttpRequest) -> HttpResponse:
    """Make a collection."""
    form = CollectionForm(request.POST)
    if not form.is_valid():
        context = {**_list_context(request), "collection_form": form}
        return render(request, "documents/document_list.html", context, status=422)
    made = services.collection_create(owner=owner_or_guest(request), name=form.cleaned_data["name"])
    return redirect("documents:collection", collection_id=made.pk)


def own_collection(request: HttpRequest, collection_id: uuid.UUID) -> Collection:
    """A collection of the visitor's own, or 404."""
    found = selectors.own_collection(collection_id, owner_of(request))
    if found is None:
        raise Http404("No such collection.")
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def collection(request: HttpRequest, collection_id: uuid.UUID) -> HttpResponse:
    """A collection; its owner may add files to it, others it is shared with may read."""
    if request.method == "POST":
        return _upload(request, own_collection(request, collection_id))
    found = selectors.collection_get(collection_id, owner_of(request))
    if found is None:
        raise Http404("No such collection.")
    return render(request, "documents/collection.html", _collection_context(request, found))


def _collection_context(request: HttpRequest, found: Collection) -> dict[str, object]:
    owner = owner_of(request)
    own = found.owner == owner
    documents = list(found.documents.all())
    others = selectors.document_list(owner).exclude(collections=found) if own and owner else []
    return {
        "collection": found,
        "own": own,
        "documents": documents,
        "busy": any(document.busy for document in documents),
        "others": others,
        "audience": sharing.audience(found) if own else [],
        "classes": class_sharing.shared_classes(found) if own else [],
        "taught": class_sharing.taught(owner).exclude(pk__in=class_sharing.shared_classes(found))
        if own and owner
        else [],
        "asked": class_sharing.asked(found) if own else [],
        "form": CollectionForm(initial={"name": found.name}),
    }


@require_POST
def collection_rename(request: HttpRequest, collection_id: uuid.UUID) -> HttpResponse:
    """Give a collection another name."""
    found = own_collection(request, collection_id)
    form = CollectionForm(request.POST)
    if not form.is_valid():
        context = {**_collection_context(request, found), "form": form}
        return render(request, "documents/collection.html", context, status=422)
    services.collection_rename(found, form.cleaned_data["name"])
    return redirect("documents:collection", collection_id=found.pk)


@require_POST
def collection_put(request: HttpRequest, collection_id: uuid.UUID, document_id: uuid.UUID) -> HttpResponse:
    """Put one of one's documents into a collection."""
    found, placed = own_collection(request, collection_id), own_document(request, document_id)
    try:
        services.collection_put(collection=found, document=placed)
    except services.CollectionFull as full:
        messages.error(request, str(full))
    return redirect("documents:collection", collection_id=found.pk)


@require_POST
def collection_take(request: HttpRequest, collection_id: uuid.UUID, document_id: uuid.UUID) -> HttpResponse:
    """Take a document out of a collection; the document stays."""
    found = own_collection(request, collection_id)
    services.collection_take(collection=found, document=own_document(request, document_id))
    return redirect("documents:collection", collection_id=found.pk)


@require_POST
def collection_delete(request: HttpRequest, collection_id: uuid.UUID) -> HttpResponse:
    """Delete a collection; its documents stay."""
    found = own_collection(request, collection_id)
    services.collection_delete(found)
    messages.success(request, f"The collection “{found.name}” is deleted. Its documents are kept.")
    return redirect("documents:document_list")


@require_POST
def collection_share(request: HttpRequest, collection_id: uuid.UUID) -> HttpResponse:
    """Let a class one teaches read a collection."""
    found = own_collection(request, collection_id)
    try:
        class_id = uuid.UUID(request.POST.get("class", ""))
    except ValueError as error:
        raise Http404("No such class.") from error
    if not class_sharing.share(collection=found, owner=found.owner, class_id=class_id):
        raise Http404("No such class.")
    return redirect("documents:collection", collection_id=found.pk)


@require_POST
def collection_unshare(request: HttpRequest, collection_id: uuid.UUID, class_id: uuid.UUID) -> HttpResponse:
    """Take a collection back from a class."""
    found = own_collection(request, collection_id)
    class_sharing.unshare(collection=found, class_id=class_id)
    return redirect("documents:collection", collection_id=found.pk)
