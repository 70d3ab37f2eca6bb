"""What a caller holds of a request that runs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from engine.types import Event, FinishEvent, Result


class Handle:
    """What a caller holds: iterate it for events, cancel it, or wait for its result. Safe from any thread."""

    def __init__(self, request_id: str, wake: Callable[[], None]) -> None:
        self.id = request_id
        self.cancelled = False
        self._wake = wake
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._done = threading.Event()
        self._result: Result | None = None

    def __iter__(self) -> Iterator[Event]:
        """Events in order, each once; ends after the `FinishEvent`."""
        while True:
            if self._done.is_set() and self._events.empty():
                return
            event = self._events.get()
            yield event
            if isinstance(event, FinishEvent):
                return

    def cancel(self) -> None:
        """Asks for an end within one step; the result then says `cancelled` and keeps the text so far."""
        self.cancelled = True
        self._wake()

    def result(self, timeout: float | None = None) -> Result:
        """Waits for the end; raises `TimeoutError` after `timeout` seconds."""
        if not self._done.wait(timeout) or self._result is None:
            raise TimeoutError(f"request {self.id} is not finished after {timeout} s")
        return self._result

    def put(self, event: Event) -> None:
        """Called by the loop alone."""
        if isinstance(event, FinishEvent):
            self._result = event.result
            self._events.put(event)
            self._done.set()
        else:
            self._events.put(event)
