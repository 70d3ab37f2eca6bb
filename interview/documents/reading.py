"""Running the child that reads a file, from the worker: progress while it works, an end to it whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from interview.documents.models import RETRYABLE
from interview.documents.parsing.outcome import TIMEOUT, TOO_COMPLEX

POLL_SECONDS = 0.1
CHILD = "interview.documents.parsing.child"
SLOTS = threading.BoundedSemaphore(2)  # children of one worker at a time

Progress = Callable[[int, int], None]


class Halted(Exception):
    """The reading was stopped from outside."""


class Unreadable(Exception):
    """The file could not be read: a reason of models.REASONS and what is wrong with this file."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def read(path: Path, name: str, *, progress: Progress, halted: Callable[[], bool]) -> dict[str, Any]:
    """What the child found: kind, encoding, note, pages, headings. Raises Unreadable, Halted."""
    while not SLOTS.acquire(timeout=POLL_SECONDS):
        if halted():
            raise Halted
    try:
        with tempfile.TemporaryDirectory(prefix="prefill-read-") as folder:
            out = Path(folder) / "outcome.json"
            code = _run(path, name, out, progress, halted)
            return _outcome(out, code)
    finally:
        SLOTS.release()


def _run(path: Path, name: str, out: Path, progress: Progress, halted: Callable[[], bool]) -> int:
    command = [sys.executable, "-m", CHILD, str(path), name, str(out)]
    command += [str(settings.DOCUMENT_PARSE_MEMORY_MB), str(settings.DOCUMENT_PARSE_SECONDS)]
    child = subprocess.Popen(
        command,
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,  # never written: it ends when this process does
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )
    said: list[tuple[int, int]] = []
    threading.Thread(target=_follow, args=(child, said), daemon=True).start()
    deadline = time.monotonic() + settings.DOCUMENT_PARSE_SECONDS
    try:
        while child.poll() is None:
            if halted():
                raise Halted
            if said:
                progress(*said.pop())
                said.clear()
            if time.monotonic() > deadline:
                raise Unreadable(TIMEOUT, f"{settings.DOCUMENT_PARSE_SECONDS} seconds is the limit.")
            time.sleep(POLL_SECONDS)
        return int(child.returncode)
    finally:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.stdin:
        child.stdin.close()


def _follow(child: subprocess.Popen[bytes], said: list[tuple[int, int]]) -> None:
    """Note the child's lines `done of`; the thread that waits for it passes them on."""
    assert child.stdout is not None
    with child.stdout as lines:
        for line in lines:
            words = line.split()
            if len(words) == 2 and all(word.isdigit() for word in words):
                said.append((int(words[0]), int(words[1])))


def _outcome(out: Path, code: int) -> dict[str, Any]:
    if code == -signal.SIGXCPU:
        raise Unreadable(TIMEOUT, f"{settings.DOCUMENT_PARSE_SECONDS} seconds of computing is the limit.")
    try:
        found: dict[str, Any] = json.loads(out.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        if code:  # out of memory in a place that can't say so, too much output, a crashed parser
            raise Unreadable(TOO_COMPLEX, "Reading it needs more than is allowed.") from error
        raise Unreadable(RETRYABLE, "The outcome was lost. Try again.") from error
    if "refused" in found:
        raise Unreadable(str(found["refused"]), str(found["detail"]))
    return found
