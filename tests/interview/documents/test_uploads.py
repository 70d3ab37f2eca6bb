"""Uploading: one outcome a file, limits, the same file twice, names as data, three personas, storage without paths."""

from __future__ import annotations

import threading
import unicodedata
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from interview.accounts.models import User
from interview.accounts.services import account_adopt, account_delete, token_create
from interview.documents import selectors, services
from interview.documents.models import READY, UPLOADED, Document, Page, Passage
from interview.runs.models import CANCELLED, Run
from interview.runs.worker import Worker
from tests.interview.documents import files
from tests.interview.documents.conftest import Upload, add, stored, work

pytestmark = pytest.mark.django_db
URL, API = "/documents/", "/api/v1/documents"
NOTE = b"The lamp burns 14 litres of oil a night."


def send(client: Client, *given: tuple[str, bytes], url: str = URL, **extra: Any) -> Any:
    return client.post(url, {"files": [SimpleUploadedFile(name, body) for name, body in given]}, **extra)


def test_each_file_has_its_own_outcome(owner: User, owner_client: Client, settings: Any) -> None:
    settings.DOCUMENT_MAX_MB = 1
    response = send(
        owner_client,
        ("a.txt", NOTE),
        ("zero.txt", b""),
        ("big.txt", b"x" * 1_200_000),
        ("b.txt", b"Another."),
        ("again.txt", NOTE),
        url=API,
    )
    assert response.status_code == 202
    outcomes = [(f["name"], f["outcome"], f["reason"]) for f in response.json()["files"]]
    assert outcomes == [
        ("a.txt", "added", ""),
        ("zero.txt", "refused", "empty"),
        ("b.txt", "added", ""),
        ("again.txt", "known", ""),
        ("big.txt", "refused", "too_large"),
    ]
    assert {document.name for document in Document.objects.filter(owner=owner)} == {"a.txt", "b.txt"}


def test_a_form_without_scripts_says_the_same(owner_client: Client) -> None:
    page = owner_client.get(URL).content.decode()
    assert 'type="file" name="files" multiple' in page and 'enctype="multipart/form-data"' in page
    response = send(owner_client, ("a.txt", NOTE), ("zero.txt", b""), follow=True)
    page = response.content.decode()
    assert "a.txt: It is read now" in page
    assert "zero.txt: The file is empty: it has 0 bytes." in page
    assert "No file was chosen" in owner_client.post(URL, {}, follow=True).content.decode()


def test_a_visitor_may_upload_and_becomes_a_guest(anonymous_client: Client) -> None:
    assert send(anonymous_client, ("a.txt", NOTE)).status_code == 302
    assert Document.objects.get().owner.is_guest
    assert "a.txt" in anonymous_client.get(URL).content.decode()


@pytest.mark.parametrize(("given", "status"), [([("z.txt", b"")], 422), ([], 422)])
def test_nothing_usable_is_a_client_error(owner_client: Client, given: Any, status: int) -> None:
    assert send(owner_client, *given, url=API).status_code == status


def test_too_large_alone_is_413(owner_client: Client, settings: Any) -> None:
    settings.DOCUMENT_MAX_MB = 1
    response = send(owner_client, ("big.txt", b"x" * 1_200_000), url=API)
    assert response.status_code == 413
    assert "1 MB; that is the limit" in response.json()["files"][0]["message"]


def test_json_is_not_a_file(owner_client: Client) -> None:
    response = owner_client.post(API, "{}", content_type="application/json")
    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


def test_limits_of_a_user_say_what_to_do(owner: User, settings: Any) -> None:
    settings.DOCUMENTS_PER_USER = 1
    assert add(owner, "a.txt", NOTE).state == "added"
    refused = add(owner, "b.txt", b"Another.")
    assert (refused.state, refused.reason) == ("refused", "over_limit")
    assert "1 is the limit. Delete one first." in refused.message
    settings.DOCUMENTS_PER_USER, settings.DOCUMENTS_USER_MB = 10, 1
    assert "1 MB is the limit" in add(owner, "c.txt", b"y" * 1_000_000).message


def test_a_collection_has_a_limit_and_keeps_its_owners_files_only(
    owner: User, other: User, settings: Any
) -> None:
    settings.DOCUMENTS_PER_COLLECTION = 1
    mine = services.collection_create(owner=owner, name="Harbour")
    add(owner, "a.txt", NOTE, mine)
    full = add(owner, "b.txt", b"Another.", mine)
    assert full.document is not None and "that is the limit for a collection" in full.message
    assert [document.name for document in mine.documents.all()] == ["a.txt"]
    theirs = add(other, "c.txt", b"Theirs.").document
    assert theirs is not None
    with pytest.raises(ValueError):
        services.collection_put(collection=mine, document=theirs)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../outside.txt", "outside.txt"),
        ("..\\outside.txt", "outside.txt"),
        ("/etc/passwd", "passwd"),
        (unicodedata.normalize("NFD", "Überblick.txt"), unicodedata.normalize("NFD", "Überblick.txt")),
        ("دليل الميناء.txt", "دليل الميناء.txt"),
        ("invoice\u202etxt.exe", "invoice\u202etxt.exe"),
        ("<script>alert(1)</script>.txt", "script>.txt"),
        ("a\x00b\x07.txt", "a\ufffdb.txt"),
        ("x" * 400 + ".txt", "x" * 251 + ".txt"),
        ("", "unnamed"),
        ("..", ".."),
    ],
)
def test_a_name_is_only_shown(owner: User, media: Path, given: str, shown: str) -> None:
    document = add(owner, given, NOTE).document
    assert document is not None and document.name == shown
    assert [str(path.relative_to(media)) for path in stored(media)] == [f"documents/{document.pk}"]


def test_names_cannot_break_a_page(owner: User, owner_client: Client, upload: Upload) -> None:
    document = upload(owner, 'a"><img src=x onerror=alert(1)>.txt', NOTE)
    for page in (URL, f"{URL}{document.pk}/"):
        assert "<img" not in owner_client.get(page).content.decode()
    sent = owner_client.get(f"{URL}{document.pk}/original/")
    assert sent["Content-Disposition"].startswith("attachment;") and "\n" not in sent["Content-Disposition"]


def test_two_files_with_equal_text_are_both_kept(owner: User, upload: Upload) -> None:
    first = upload(owner, "a.txt", NOTE)
    second = upload(owner, "a.md", NOTE + b"\n")
    assert first.pk != second.pk and first.state == second.state == READY


def test_the_same_file_of_two_people_is_two_documents(owner: User, other: User) -> None:
    assert add(owner, "a.txt", NOTE).state == add(other, "a.txt", NOTE).state == "added"


@pytest.mark.django_db(transaction=True)
def test_the_same_file_at_once_is_one_document_without_orphans(owner: User, media: Path) -> None:
    barrier, outcomes = threading.Barrier(4), []

    def go(number: int) -> None:
        barrier.wait()
        try:
            outcomes.append(add(owner, f"{number}.txt", NOTE).state)
        finally:
            connection.close()

    threads = [threading.Thread(target=go, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["added", "known", "known", "known"]
    assert Run.objects.filter(kind="document").count() == 1
    assert len(stored(media)) == 1


def test_a_full_disk_leaves_no_row(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.core.files.storage import default_storage

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(default_storage._wrapped, "_save", full)  # type: ignore[attr-defined]
    with pytest.raises(OSError):
        add(owner, "a.txt", NOTE)
    assert not Document.objects.exists()


class BucketError(Exception):
    """As a bucket's client has: no OSError."""


def test_a_storage_that_fails_is_our_fault_and_costs_one_file(
    owner: User, owner_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.core.files.storage import default_storage

    whole, fails = default_storage._wrapped._save, iter([True, False, True])  # type: ignore[attr-defined]

    def save(name: str, content: Any) -> str:
        if next(fails):
            raise BucketError
        return str(whole(name, content))

    monkeypatch.setattr(default_storage._wrapped, "_save", save)  # type: ignore[attr-defined]
    sent = [SimpleUploadedFile("a.txt", NOTE), SimpleUploadedFile("b.txt", NOTE + b" More.")]
    response = owner_client.post(API, {"files": sent})
    assert response.status_code == 202
    assert [file["reason"] for file in response.json()["files"]] == ["retryable", ""]
    assert [document.name for document in Document.objects.all()] == ["b.txt"]
    alone = owner_client.post(API, {"files": [SimpleUploadedFile("a.txt", NOTE)]})
    assert alone.status_code == 503 and "our fault" in alone.json()["files"][0]["message"]


def test_a_file_that_cannot_be_removed_does_not_keep_its_document(
    owner: User,
    owner_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    from django.core.files.storage import default_storage

    document = add(owner, "a.txt", NOTE).document
    assert document is not None

    def fails(name: str) -> None:
        raise BucketError

    monkeypatch.setattr(default_storage._wrapped, "delete", fails)  # type: ignore[attr-defined]
    with django_capture_on_commit_callbacks(execute=True):
        assert owner_client.delete(f"{API}/{document.pk}").status_code == 204
    assert not Document.objects.exists()


def test_a_storage_without_paths_is_enough(
    owner: User, owner_client: Client, upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a bucket: nothing may ask for a path on this machine."""
    from django.core.files.storage import default_storage

    monkeypatch.setattr(default_storage, "_wrapped", InMemoryStorage())
    document = upload(owner, "a.pdf", files.pdf([files.LIGHTHOUSE]))
    assert document.state == READY
    sent = owner_client.get(f"{URL}{document.pk}/original/")
    assert b"".join(sent.streaming_content) == files.pdf([files.LIGHTHOUSE])  # type: ignore[attr-defined]
    services.document_delete(document)


def test_the_original_is_a_download_and_never_runs(owner: User, owner_client: Client, upload: Upload) -> None:
    body = b"<html><script>alert(1)</script><p>Text.</p></html>"
    sent = owner_client.get(f"{URL}{upload(owner, 'page.html', body).pk}/original/")
    assert b"".join(sent.streaming_content) == body  # type: ignore[attr-defined]
    assert sent["Content-Type"] == "application/octet-stream"
    assert sent["Content-Disposition"] == 'attachment; filename="page.html"'
    assert "sandbox" in sent["Content-Security-Policy"]
    assert sent["X-Content-Type-Options"] == "nosniff"


def test_deleting_removes_every_trace_of_the_file(
    owner: User, owner_client: Client, upload: Upload, media: Path, django_capture_on_commit_callbacks: Any
) -> None:
    document = upload(owner, "a.txt", NOTE)
    with django_capture_on_commit_callbacks(execute=True):
        assert owner_client.delete(f"{API}/{document.pk}").status_code == 204
    assert stored(media) == []
    assert not (Document.objects.exists() or Page.objects.exists() or Passage.objects.exists())
    assert owner_client.get(f"{URL}{document.pk}/").status_code == 404
    assert upload(owner, "a.txt", NOTE).state == READY


def test_deleting_an_account_removes_its_files(
    owner: User, upload: Upload, media: Path, django_capture_on_commit_callbacks: Any
) -> None:
    upload(owner, "a.txt", NOTE)
    with django_capture_on_commit_callbacks(execute=True):
        account_delete(owner=owner)
    assert stored(media) == []


def test_a_guests_documents_come_along_and_a_file_both_have_stays_once(owner: User, upload: Upload) -> None:
    guest = User.objects.create_guest()
    mine = upload(owner, "a.txt", NOTE)
    theirs = services.collection_create(owner=guest, name="From before")
    upload(guest, "same.txt", NOTE, theirs)
    upload(guest, "b.txt", b"Another.", theirs)
    assert account_adopt(guest=guest, user=owner).kept == ()
    assert {document.name for document in selectors.document_list(owner)} == {"a.txt", "b.txt"}
    theirs.refresh_from_db()
    assert theirs.owner == owner and mine in theirs.documents.all()


def test_waiting_documents_take_turns(owner: User, other: User, worker: Worker) -> None:
    for number in range(6):
        add(owner, f"{number}.txt", b"Number %d." % number)
    services.documents_dispatch()
    add(other, "theirs.txt", b"Theirs.")
    under_way = Run.objects.filter(kind="document", state="queued")
    assert under_way.count() == services.AT_ONCE
    first = under_way.order_by("created").first()
    assert first is not None
    worker.execute(str(first.pk))
    services.documents_dispatch()
    assert under_way.filter(owner=other).count() == 1, "who has nothing under way comes first"
    work(worker)
    assert not Document.objects.exclude(state=READY).exists()


def test_a_waiting_document_can_be_stopped_and_tried_again(
    owner: User, owner_client: Client, worker: Worker
) -> None:
    document = add(owner, "a.txt", NOTE).document
    assert document is not None
    owner_client.post(f"{URL}{document.pk}/cancel/")
    document.refresh_from_db()
    assert document.state == CANCELLED and work(worker) == 0
    owner_client.post(f"{URL}{document.pk}/retry/")
    document.refresh_from_db()
    assert document.state == UPLOADED
    work(worker)
    document.refresh_from_db()
    assert document.state == READY


def test_uploading_a_failed_file_again_tries_again(owner: User, upload: Upload, settings: Any) -> None:
    settings.DOCUMENT_PARSE_SECONDS = 0
    document = upload(owner, "a.txt", NOTE)
    assert (document.state, document.reason) == ("failed", "timeout")
    settings.DOCUMENT_PARSE_SECONDS = 60
    assert add(owner, "renamed.txt", NOTE).state == "retried"
    assert upload(owner, "a.txt", NOTE).state == READY


@pytest.mark.parametrize(
    ("method", "way"),
    [
        ("get", "documents/{id}/"),
        ("get", "documents/{id}/original/"),
        ("post", "documents/{id}/cancel/"),
        ("post", "documents/{id}/retry/"),
        ("post", "documents/{id}/delete/"),
        ("get", "api/v1/documents/{id}"),
        ("delete", "api/v1/documents/{id}"),
    ],
)
def test_somebody_elses_document_is_not_there(
    owner: User, other_client: Client, upload: Upload, method: str, way: str
) -> None:
    document = upload(owner, "a.txt", NOTE)
    path = "/" + way.format(id=document.pk)
    assert getattr(other_client, method)(path).status_code == 404
    anonymous = getattr(Client(), method)(path).status_code
    assert anonymous == (401 if way.startswith("api") else 404)
    assert Document.objects.filter(pk=document.pk).exists()
    assert "a.txt" not in other_client.get(URL).content.decode()
    assert other_client.get(API).json() == {"total": 0, "items": []}


def test_the_api_lists_reads_and_takes_tokens(owner: User, upload: Upload) -> None:
    document = upload(owner, "a.pdf", files.pdf([files.LIGHTHOUSE]))
    token = token_create(owner=owner, name="script")[1]
    client = Client(headers={"Authorization": f"Bearer {token}"})
    listed = client.get(API).json()
    assert listed["total"] == 1 and listed["items"][0]["id"] == str(document.pk)
    one = client.get(f"{API}/{document.pk}").json()
    assert (one["state"], one["kind"], one["pages"], one["own"]) == ("ready", "pdf", 1, True)
    sent = client.post(API, {"file": SimpleUploadedFile("b.txt", b"By a token.")})
    assert sent.status_code == 202 and sent.json()["files"][0]["outcome"] == "added"
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    assert {"/api/v1/documents", "/api/v1/documents/{document_id}"} <= set(paths)


@pytest.mark.parametrize("way", ["", "collections/"])
def test_forms_need_their_csrf_token(owner: User, way: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(owner)
    assert strict.post(f"{URL}{way}", {"name": "x"}).status_code == 403
    assert strict.post(API, {"file": BytesIO(NOTE)}).status_code == 403


@pytest.mark.parametrize("count", [1, 4])
def test_a_list_costs_the_same_for_many(
    owner: User, owner_client: Client, worker: Worker, django_assert_num_queries: Any, count: int
) -> None:
    for number in range(count):
        add(owner, f"{number}.txt", b"Number %d." % number)
        services.collection_create(owner=owner, name=f"Collection {number}")
    work(worker)
    with django_assert_num_queries(6):
        assert owner_client.get(URL).status_code == 200
    with django_assert_num_queries(4):
        assert owner_client.get(API).status_code == 200
