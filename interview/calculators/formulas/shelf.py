"""Large things kept while they are asked for, and let go a while after: a tokenizer takes 20 to 80 MB."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from interview.heap import give_back

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Shelf(Generic[T]):
    """Values by name, each read once and dropped when nobody asked for it for `seconds`."""

    def __init__(self, read: Callable[[str], T], seconds: float) -> None:
        self._read, self.seconds = read, seconds
        self._held: dict[str, tuple[T, float]] = {}
        # One at a time: two readers of one file would hold it twice, and reading is bound by the interpreter's lock anyway.
        self._reading = threading.Lock()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._wanted: dict[str, None] = {}
        self._failed: set[str] = set()
        self._reader: threading.Thread | None = None

    def get(self, name: str) -> T:
        """The value, read if it isn't held. Raises what reading raises."""
        held = self._touched(name)
        if held is not None:
            return held
        with self._reading:
            held = self._touched(name)
            return held if held is not None else self._kept(name, self._read(name))

    def soon(self, names: Iterable[str]) -> frozenset[str]:
        """Those of these that aren't held yet: they are read one after another, beside whatever goes on.

        One whose file can't be read is not waited for: `get` says what is wrong with it.
        """
        with self._lock:
            missing = [n for n in names if n not in self._held and n not in self._failed]
            self._wanted |= dict.fromkeys(missing)
            if self._wanted and self._reader is None:
                self._reader = threading.Thread(target=self._read_wanted, daemon=True)
                self._reader.start()
        return frozenset(missing)

    def _read_wanted(self) -> None:
        while (name := self._next()) is not None:
            try:
                self.get(name)
            except Exception:
                # Whoever asks for it by name gets this error; here nobody would see it.
                logger.warning("%s could not be read", name, exc_info=True)
                self._failed.add(name)
            with self._lock:
                self._wanted.pop(name, None)

    def _next(self) -> str | None:
        with self._lock:
            name = next(iter(self._wanted), None)
            if name is None:
                self._reader = None
            return name

    def names(self) -> frozenset[str]:
        """What is held now."""
        with self._lock:
            return frozenset(self._held)

    def clear(self) -> None:
        """Let go of everything now."""
        with self._lock:
            self._held.clear()
        give_back()

    def _touched(self, name: str) -> T | None:
        with self._lock:
            if name not in self._held:
                return None
            value, _ = self._held[name]
            self._held[name] = (value, time.monotonic())
            return value

    def _kept(self, name: str, value: T) -> T:
        give_back()
        with self._lock:
            self._held[name] = (value, time.monotonic())
            if self._timer is None:
                self._wait(self.seconds)
        return value

    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(max(0.01, seconds), self._sweep)
        self._timer.daemon = True
        self._timer.start()

    def _sweep(self) -> None:
        """Drop what is old; look again when the next one will be."""
        now = time.monotonic()
        with self._lock:
            old = [name for name, (_, used) in self._held.items() if now - used >= self.seconds]
            for name in old:
                del self._held[name]
            self._timer = None
            if self._held:
                self._wait(min(used for _, used in self._held.values()) + self.seconds - now)
        if old:
            give_back()
