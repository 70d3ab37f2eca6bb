"""What an import would do, row by row, before anything is written."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from interview.questions.content import Content, ContentRefused, content_from
from interview.questions.formats.raw import FileRefused, Raw
from interview.questions.formats.registry import Format

ROW_LIMIT = 500
BYTE_LIMIT = 5_000_000


@dataclass(frozen=True)
class Row:
    """One question of a file: `state` is new, changed, unchanged or wrong."""

    place: str
    title: str
    state: str
    content: Content | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preview:
    """All rows of a file."""

    rows: list[Row]

    @property
    def wrong(self) -> list[Row]:
        return [row for row in self.rows if row.state == "wrong"]

    @property
    def contents(self) -> list[Content]:
        """What may be written: everything, or nothing when a row is wrong."""
        return [] if self.wrong else [row.content for row in self.rows if row.content]

    def count(self, state: str) -> int:
        return sum(row.state == state for row in self.rows)


def preview(format: Format, data: bytes, *, topics: Collection[str], known: Mapping[str, str]) -> Preview:
    """Read a file; `known` holds the owner's uids with their hashes. Raises FileRefused."""
    if len(data) > BYTE_LIMIT:
        raise FileRefused(f"{len(data):,} bytes, and {BYTE_LIMIT:,} is the limit. Split the file.")
    raws = format.read(data)
    if not raws:
        raise FileRefused("There is no question in this file.")
    if len(raws) > ROW_LIMIT:
        raise FileRefused(f"{len(raws):,} questions, and {ROW_LIMIT} at once is the limit. Split the file.")
    seen: dict[str, str] = {}
    return Preview([_row(raw, topics, known, seen) for raw in raws])


def _row(raw: Raw, topics: Collection[str], known: Mapping[str, str], seen: dict[str, str]) -> Row:
    title = str(raw.fields.get("title") or raw.fields.get("prompt") or "").strip()[:80]
    if raw.problem:
        return Row(raw.place, title, "wrong", problems=(raw.problem,))
    try:
        content = content_from({**raw.fields, "uid": _uid(raw.fields)}, topics=topics)
    except ContentRefused as refused:
        return Row(raw.place, title, "wrong", problems=tuple(str(fault) for fault in refused.faults))
    if content.uid in seen:
        twice = f"uid: {content.uid!r} is also that of {seen[content.uid]}"
        return Row(raw.place, content.title, "wrong", problems=(twice,))
    seen[content.uid] = raw.place
    before = known.get(content.uid)
    state = "new" if before is None else "unchanged" if before == content.hash else "changed"
    return Row(raw.place, content.title, state, content)


def _uid(fields: Mapping[str, Any]) -> Any:
    """The question's own id, or one made from its words, so that importing twice updates."""
    if fields.get("uid"):
        return fields["uid"]
    words = " ".join(str(fields.get("prompt") or "").split()).casefold()
    return f"text-{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:16]}"
