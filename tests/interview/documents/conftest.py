"""Uploads and a worker in this process with the real embedding model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from engine import Engine
from engine.embeddings import Embedder
from interview.accounts.models import User
from interview.documents import services
from interview.documents.models import Collection, Document
from interview.documents.parsing.child import outcome
from interview.documents.searching import INDEXES
from interview.runs.models import QUEUED, Run
from interview.runs.worker import Worker

Upload = Callable[..., Document]
Read = Callable[[str, bytes], dict[str, Any]]


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return Embedder.load(Path(settings.MODELS_DIR))


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The language model, for the tests that ask it."""
    with Engine.load(models_dir=Path(settings.MODELS_DIR)) as loaded:
        yield loaded


@pytest.fixture
def asking_worker(engine: Engine, embedder: Embedder) -> Worker:
    """The worker's own code with both models."""
    INDEXES.forget()
    made = Worker()
    made.models = SimpleNamespace(engine=engine, embedder=embedder)  # type: ignore[assignment]
    return made


@pytest.fixture
def worker(embedder: Embedder) -> Worker:
    """The worker's own code, without Celery around it."""
    made = Worker()
    made.models = SimpleNamespace(embedder=embedder)  # type: ignore[assignment]
    return made


@pytest.fixture(autouse=True)
def media(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """Stored files of each test in a folder of its own."""
    before = default_storage._location  # type: ignore[attr-defined]
    default_storage._location = str(tmp_path / "media")  # type: ignore[attr-defined]
    _forget_location()
    yield tmp_path / "media"
    default_storage._location = before  # type: ignore[attr-defined]
    _forget_location()


def _forget_location() -> None:
    for name in ("base_location", "location"):
        default_storage._wrapped.__dict__.pop(name, None)  # type: ignore[attr-defined]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """What a parser makes of bytes under a name, without a child process."""

    def reading(name: str, raw: bytes) -> dict[str, Any]:
        path = tmp_path / "original"
        path.write_bytes(raw)
        return outcome(path, name)

    return reading


def text_of(found: dict[str, Any]) -> str:
    return "\n".join(text for _, text in found["pages"])


def stored(media: Path) -> list[Path]:
    """Every file that lies in the storage."""
    return sorted(path for path in media.rglob("*") if path.is_file())


def add(owner: User, name: str, content: bytes, collection: Collection | None = None) -> services.Outcome:
    return services.document_add(
        owner=owner, file=ContentFile(content, name=name), name=name, collection=collection
    )


def work(worker: Worker) -> int:
    """Do what is queued until nothing is; how many runs that were."""
    done = 0
    services.documents_dispatch()
    while run := Run.objects.filter(state=QUEUED).order_by("created").first():
        worker.execute(str(run.pk))
        services.documents_dispatch()
        done += 1
    return done


@pytest.fixture
def upload(worker: Worker) -> Upload:
    """Upload a file and have it read; the document as it is then."""

    def do(owner: User, name: str, content: bytes, collection: Collection | None = None) -> Document:
        outcome = add(owner, name, content, collection)
        assert outcome.document is not None, outcome
        work(worker)
        outcome.document.refresh_from_db()
        return outcome.document

    return do
