"""Anki packages: notes with stable ids. Ours carry the whole question; others' give a front and a back."""

from __future__ import annotations

import html
import io
import json
import lzma
import re
import sqlite3
import struct
import tempfile
import time
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import genanki

from interview.questions.content import Content
from interview.questions.formats.markup import plain
from interview.questions.formats.raw import FileRefused, Raw
from interview.questions.loader import LEVELS

DECK_ID, MODEL_ID = 1_718_203_001, 1_718_203_002  # fixed for ever: Anki tells decks and models apart by them
DECK, MODEL = "Prefill", "Prefill question"
DATABASE_LIMIT = 50_000_000  # bytes of an unpacked collection
NOTE_LIMIT = 5_000
FIELDS_LIMIT = 200_000  # characters of one note
READ_SECONDS = 5  # that a collection may take
CORRUPT = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    OverflowError,
)
SEPARATOR = "\x1f"
TAG = re.compile(r"[^\w:.-]+")
SOUND = re.compile(r"\[sound:[^\[\]]*\]")
CLOZE = re.compile(r"\{\{c\d+::")
CSS = ".card { font-family: serif; font-size: 20px; text-align: left; max-width: 38em; margin: auto; }"


def _model() -> genanki.Model:
    """The hidden field keeps the whole question, so that the way back loses nothing."""
    card = {
        "name": "Answer in your own words",
        "qfmt": "<h2>{{Title}}</h2><div>{{Question}}</div>",
        "afmt": '{{FrontSide}}<hr id="answer"><div>{{Answer}}</div><div>{{Points}}</div>',
    }
    names = ("Title", "Question", "Answer", "Points", "Data")
    return genanki.Model(
        MODEL_ID, MODEL, fields=[{"name": name} for name in names], templates=[card], css=CSS
    )


def write(contents: Sequence[Content]) -> bytes:
    """A package of one deck; Anki updates a note whose id it knows."""
    deck, model = genanki.Deck(DECK_ID, DECK), _model()
    for content in contents:
        deck.add_note(_note(content, model))
    out = io.BytesIO()
    genanki.Package(deck).write_to_file(out)
    return out.getvalue()


def _note(content: Content, model: genanki.Model) -> genanki.Note:
    points = "".join(f"<li>{html.escape(point['means'])}</li>" for point in content.points)
    fields = [
        html.escape(content.title),
        _html(content.prompt),
        _html(content.strong),
        f"<ul>{points}</ul>",
        html.escape(json.dumps(content.to_dict(), ensure_ascii=False)),
    ]
    tags = [TAG.sub("-", tag) for tag in (content.level, f"topic::{content.topic}")]
    return genanki.Note(model=model, fields=fields, guid=content.uid, tags=tags)


def _html(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")


def read(data: bytes) -> list[Raw]:
    """The notes of a package. Raises FileRefused for one that can't be opened."""
    return [_raw(number, *row) for number, row in enumerate(_rows(_collection(data)), start=1)]


def _collection(data: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = {info.filename: info for info in package.infolist()}
            found = names.get("collection.anki21") or names.get("collection.anki2")
            if "collection.anki21b" in names:
                raise FileRefused("Export it from Anki again with “Support older Anki versions” ticked.")
            if found is None:
                raise FileRefused("This package holds no Anki collection.")
            if found.file_size > DATABASE_LIMIT:
                raise FileRefused(
                    "The collection is larger than 50 MB unpacked. Export one deck without media."
                )
            with package.open(found) as file:
                unpacked = file.read(DATABASE_LIMIT + 1)
    except CORRUPT as error:
        raise FileRefused("This is not an Anki package (.apkg).") from error
    if len(unpacked) > DATABASE_LIMIT:
        raise FileRefused("The collection is larger than 50 MB unpacked. Export one deck without media.")
    return unpacked


def _rows(database: bytes) -> list[tuple[str, str, str]]:
    with tempfile.TemporaryDirectory(prefix="anki-") as folder:
        file = Path(folder) / "collection.sqlite"
        file.write_bytes(database)
        try:
            connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
            try:
                return _notes(connection)
            finally:
                connection.close()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise FileRefused("The package's collection can't be read.") from error


def _notes(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """The rows of a true table of notes: a view or a computed column could work for ever, or grow without end."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, DATABASE_LIMIT)
    until = time.monotonic() + READ_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    connection.execute("PRAGMA trusted_schema = OFF")
    tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'notes' AND sql LIKE 'CREATE TABLE%'"
    computed = "SELECT count(*) FROM pragma_table_xinfo('notes') WHERE hidden <> 0"
    if connection.execute(tables).fetchone() != (1,) or connection.execute(computed).fetchone() != (0,):
        raise FileRefused("The package's collection holds no table of notes.")
    query = "SELECT guid, flds, tags FROM notes ORDER BY id LIMIT ?"
    return [tuple(map(str, row)) for row in connection.execute(query, (NOTE_LIMIT,))]  # type: ignore[misc]


def _raw(number: int, guid: str, joined: str, tags: str) -> Raw:
    place, fields = f"note {number}", joined.split(SEPARATOR)
    if len(joined) > FIELDS_LIMIT:
        return Raw(place, problem=f"{len(joined):,} characters, and {FIELDS_LIMIT:,} is the limit of a note")
    if len(fields) == 5 and (whole := _ours(fields[4])) is not None:
        return Raw(place, {**whole, "uid": guid})
    if len(fields) < 2:
        return Raw(place, problem="the note has no second field to take as the reference")
    found: dict[str, Any] = {"uid": guid, "prompt": _plain(fields[0]), "strong": _plain(fields[1])}
    for tag in tags.split():
        if tag in LEVELS:
            found["level"] = tag
    return Raw(place, found)


def _ours(data: str) -> dict[str, Any] | None:
    try:
        whole = json.loads(html.unescape(data))
    except (ValueError, RecursionError):
        return None
    return whole if isinstance(whole, dict) and "prompt" in whole else None


def _plain(markup: str) -> str:
    first, *gaps = CLOZE.split(SOUND.sub("", markup))
    return plain(first + "".join(_filled(gap) for gap in gaps))


def _filled(gap: str) -> str:
    """A cloze's words without its hint, and what follows it."""
    inside, closing, rest = gap.partition("}}")
    return inside.partition("::")[0] + rest if closing else gap
