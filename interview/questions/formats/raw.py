"""What every format reads into: one raw question a row, or what was wrong with that row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class FileRefused(Exception):
    """The file as a whole can't be read; the message says why and what is wanted."""


@dataclass(frozen=True)
class Raw:
    """One question as it was found: `place` says where in the file, `problem` why it can't be used."""

    place: str
    fields: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def text_of(data: bytes) -> str:
    """UTF-8 text with or without a byte-order mark, with plain line ends. Raises FileRefused."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise FileRefused(f"The file is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
