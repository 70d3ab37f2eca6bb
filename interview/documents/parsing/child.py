"""The child process that reads one file: `python -m interview.documents.parsing.child FILE NAME OUT MEMORY_MB SECONDS`.

It limits itself before it touches the file, says its progress on stdout, and writes the outcome as JSON to OUT. When
its parent goes (stdin ends), it goes too.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
import unicodedata
from pathlib import Path
from typing import Any

from interview.documents.parsing.outcome import DAMAGED, NO_TEXT, TOO_COMPLEX, Parsed, Refused

OUTPUT_BYTES = 64 * 1024 * 1024
FILES = 64
PROGRESS_SECONDS = 0.5


def limit(memory_mb: int, seconds: int) -> None:
    """Bound address space, processor time, written bytes and open files; leave no core file."""
    memory = memory_mb * 1024 * 1024
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, OUTPUT_BYTES),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # Processor time ends with a signal of its own a little before the kill, so that the parent can tell it apart.
        last = most + 2 if what == resource.RLIMIT_CPU and hard == resource.RLIM_INFINITY else most
        resource.setrlimit(what, (most, last))


def leave_with_parent() -> None:
    """End this process when the parent is gone."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os._exit(3)

    threading.Thread(target=wait, daemon=True).start()


class Progress:
    """Lines `done of` on stdout, two a second at most."""

    def __init__(self) -> None:
        self._said = 0.0

    def __call__(self, done: int, of: int) -> None:
        if time.monotonic() - self._said >= PROGRESS_SECONDS:
            self._said = time.monotonic()
            print(done, of, flush=True)


def parse(path: Path, name: str) -> Parsed:
    """Read a file by its content. Raises Refused."""
    from interview.documents.parsing import sniff

    kind = sniff.kind_of(path, name)
    if kind == "pdf":  # each parser is loaded only where it is wanted: a child starts for every file
        from interview.documents.parsing import pdf

        return pdf.parse(path, Progress())
    if kind == "docx":
        from interview.documents.parsing import docx

        return docx.parse(path)
    from interview.documents.parsing import plain, rows, web

    raw = path.read_bytes()
    if kind == "html":
        return web.parse(raw)
    if kind == "csv":
        return rows.parse(raw)
    return plain.parse(raw, kind)


def visible(text: str) -> bool:
    """True when something of a text can be seen."""
    return any(unicodedata.category(letter)[0] not in "CZ" for letter in text)


def outcome(path: Path, name: str) -> dict[str, Any]:
    """The text, or the refusal, as JSON."""
    try:
        parsed = parse(path, name)
    except Refused as refused:
        return {"refused": refused.reason, "detail": refused.detail}
    except MemoryError:
        return {"refused": TOO_COMPLEX, "detail": "Reading it needs more memory than is allowed."}
    except RecursionError:
        return {"refused": TOO_COMPLEX, "detail": "Its parts are nested too deeply."}
    except Exception as error:  # whatever a broken file makes a parser say
        return {"refused": DAMAGED, "detail": f"It can't be read ({type(error).__name__}). Save it again."}
    if not any(visible(text) for _, text in parsed.pages):
        return {"refused": NO_TEXT, "detail": "It holds nothing but white space and invisible characters."}
    return {
        "kind": parsed.kind,
        "encoding": parsed.encoding,
        "note": parsed.note,
        "pages": parsed.pages,
        "headings": parsed.headings,
    }


def main(arguments: list[str]) -> int:
    """Read FILE, write OUT."""
    file, name, out, memory_mb, seconds = arguments
    limit(int(memory_mb), int(seconds))
    leave_with_parent()
    found = outcome(Path(file), name)
    Path(out).write_text(json.dumps(found, ensure_ascii=True), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
