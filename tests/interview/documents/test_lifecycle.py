"""Stopping, losing, deleting and rebuilding while a document is being read: nothing half-done is ever searchable."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.core.management import call_command
from django.db import connection

from interview.accounts.models import User
from interview.documents import chunking, indexing, reading, services
from interview.documents.models import CANCELLED, FAILED, PROCESSING, READY, Document, Page, Passage
from interview.runs import services as runs
from interview.runs.models import QUEUED, Run
from interview.runs.worker import Worker
from tests.interview.documents import files
from tests.interview.documents.conftest import Upload, add, stored, work

NOTE = b"The lamp burns 14 litres of oil a night."


def children() -> list[psutil.Process]:
    """The processes that read files for this one."""
    found = []
    for child in psutil.Process().children():
        try:
            if reading.CHILD in child.cmdline():
                found.append(child)
        except psutil.Error:
            continue
    return found


def wait_for(what: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def slow_file(owner: User, transactional_db: None) -> Document:
    """A document that takes long to read."""
    document = add(owner, "slow.pdf", files.slow_pdf(8)).document
    assert document is not None
    document.refresh_from_db()
    return document


@pytest.fixture
def at_work(worker: Worker, slow_file: Document) -> Iterator[threading.Thread]:
    """A worker thread that is reading the slow document, with the keeper's watch for cancels."""
    assert slow_file.run_id is not None
    over = threading.Event()

    def go() -> None:
        worker.execute(str(slow_file.run_id))
        connection.close()

    def watch() -> None:
        while not over.is_set():
            worker._watch_cancels()
            time.sleep(0.1)
        connection.close()

    thread, keeper = threading.Thread(target=go), threading.Thread(target=watch)
    thread.start()
    keeper.start()
    wait_for(children)
    yield thread
    thread.join(20)
    over.set()
    keeper.join(20)


@pytest.mark.django_db(transaction=True)
def test_cancel_stops_in_two_seconds_and_stays(
    owner: User, slow_file: Document, at_work: threading.Thread
) -> None:
    started = time.monotonic()
    services.document_cancel(slow_file)
    at_work.join(5)
    assert time.monotonic() - started < 2 and not at_work.is_alive()
    assert children() == []
    slow_file.refresh_from_db()
    assert slow_file.state == CANCELLED and slow_file.version == 0
    assert not (Page.objects.exists() or Passage.objects.exists())
    run = Run.objects.get(kind="document")
    assert run.state == "cancelled"
    assert not runs.run_succeed(run, {"version": 1}, {}), "a late finish changes nothing"
    slow_file.refresh_from_db()
    assert slow_file.state == CANCELLED


@pytest.mark.django_db(transaction=True)
def test_delete_while_reading_leaves_nothing_and_later_jobs_run(
    owner: User, worker: Worker, slow_file: Document, at_work: threading.Thread, media: Path
) -> None:
    services.document_delete(slow_file)
    at_work.join(5)
    assert not at_work.is_alive() and children() == []
    assert stored(media) == []
    assert not (Document.objects.exists() or Page.objects.exists() or Passage.objects.exists())
    after = add(owner, "after.txt", NOTE).document
    assert after is not None
    work(worker)
    after.refresh_from_db()
    assert after.state == READY


@pytest.mark.django_db(transaction=True)
def test_a_worker_lost_while_reading_is_resumed_once(
    owner: User, worker: Worker, slow_file: Document, at_work: threading.Thread
) -> None:
    """The worker's rows as a kill leaves them: running, with an expired lease; its attempt must not end the next."""
    run = Run.objects.get(kind="document")
    assert runs.run_requeue(run, event="lease_expired", counts=True)
    run.refresh_from_db()
    assert (run.state, run.attempt) == (QUEUED, 1)
    for child in children():
        os.kill(child.pid, signal.SIGKILL)
    at_work.join(20)
    run.refresh_from_db()
    assert run.state == QUEUED, "the lost attempt's own ending is ignored"
    work(worker)
    slow_file.refresh_from_db()
    run.refresh_from_db()
    assert (slow_file.state, slow_file.reason_words, run.attempt) == (READY, "", 2)
    assert Passage.objects.values("version").distinct().count() == 1


@pytest.mark.django_db
def test_lost_twice_is_our_fault_and_can_be_retried(owner: User, worker: Worker) -> None:
    document = add(owner, "a.txt", NOTE).document
    assert document is not None
    services.documents_dispatch()
    document.refresh_from_db()
    for _ in range(2):
        claimed = runs.run_claim(str(document.run_id), worker="gone:1")
        assert claimed is not None
        Document.objects.filter(pk=document.pk).update(state=PROCESSING)
        runs.run_requeue(claimed, event="worker_lost", counts=True)
    document.refresh_from_db()
    assert (document.state, document.reason) == (FAILED, "retryable")
    services.document_retry(document)
    work(worker)
    document.refresh_from_db()
    assert document.state == READY and document.reason == ""


@pytest.mark.django_db
def test_a_lost_embedder_is_our_fault_not_the_files(
    owner: User, worker: Worker, embedder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights can't be used: the same error a broken model file gives."""
    whole = embedder._weights
    monkeypatch.setattr(embedder, "_weights", {})
    # Words that no other test has had embedded: vectors of the last texts are remembered.
    document = add(owner, "a.txt", NOTE + b" Nobody has read this line before.").document
    assert document is not None
    work(worker)
    document.refresh_from_db()
    assert (document.state, document.reason) == (FAILED, "retryable")
    assert document.detail == indexing.OUR_FAULT
    monkeypatch.setattr(embedder, "_weights", whole)
    services.document_retry(document)
    work(worker)
    document.refresh_from_db()
    assert document.state == READY, "the last attempt decides"


@pytest.mark.django_db
def test_a_lost_original_is_our_fault(owner: User, worker: Worker, media: Path) -> None:
    document = add(owner, "a.txt", NOTE).document
    assert document is not None
    stored(media)[0].unlink()
    work(worker)
    document.refresh_from_db()
    assert (document.state, document.reason) == (FAILED, "retryable")


@pytest.mark.django_db
def test_time_is_limited(owner: User, upload: Upload, settings: Any) -> None:
    settings.DOCUMENT_PARSE_SECONDS = 1
    document = upload(owner, "slow.pdf", files.slow_pdf(40))
    assert (document.state, document.reason) == (FAILED, "timeout")
    assert children() == []


@pytest.mark.django_db
def test_memory_is_limited(owner: User, upload: Upload, settings: Any) -> None:
    settings.DOCUMENT_PARSE_MEMORY_MB = 128
    document = upload(owner, "page.html", b"<html><pre>" + b"x " * 9_000_000)
    assert document.state == FAILED and document.reason in ("too_complex", "too_large")


@pytest.mark.django_db
def test_a_rebuild_makes_a_new_version_and_drops_the_old(owner: User, upload: Upload, worker: Worker) -> None:
    document = upload(owner, "a.txt", NOTE)
    Document.objects.filter(pk=document.pk).update(index_version="older")
    call_command("rebuild_index")
    document.refresh_from_db()
    assert (document.state, document.version) == (READY, 1), "searched as it was until the new one is done"
    work(worker)
    document.refresh_from_db()
    assert (document.state, document.version, document.index_version) == (READY, 2, chunking.INDEX_VERSION)
    assert set(Passage.objects.values_list("version", flat=True)) == {2}
    call_command("rebuild_index")
    assert not Run.objects.filter(state=QUEUED).exists(), "what is up to date stays"
    call_command("rebuild_index", "--all")
    assert Run.objects.filter(state=QUEUED).count() == 1


@pytest.mark.django_db
def test_a_failed_rebuild_keeps_the_version_before(
    owner: User, upload: Upload, worker: Worker, media: Path
) -> None:
    document = upload(owner, "a.txt", NOTE)
    stored(media)[0].unlink()
    call_command("rebuild_index", "--all")
    work(worker)
    document.refresh_from_db()
    assert (document.state, document.version) == (READY, 1)
    assert "The last rebuild did not succeed" in document.detail
    assert Passage.objects.filter(document=document, version=1).exists()
