"""Clients that keep the engine busy: each sends its next request when its last is done. Works in the worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine import Engine, Request
    from engine.handle import Handle

WATCH_SECONDS = 0.1


@dataclass
class Served:
    """One request as its client saw it; times in milliseconds, the start since the load began."""

    number: int
    started_ms: float
    ttft_ms: float | None = None
    total_ms: float = 0.0
    queue_ms: float = 0.0
    gaps_ms: list[float] = field(default_factory=list)
    tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    proposed: int = 0
    accepted: int = 0
    finish: str = ""


@dataclass(frozen=True)
class Seen:
    """What the engine was doing at one moment."""

    at_ms: float
    running: int
    waiting: int
    kv_bytes: int
    done: int


class Load:
    """A list of requests served to so many clients."""

    def __init__(self, engine: Engine, requests: list[Request], clients: int) -> None:
        self.engine, self.clients = engine, clients
        self.todo = list(enumerate(requests))
        self.served: list[Served] = []
        self.moments: list[Seen] = []
        self.halted = False
        self.lock = threading.Lock()
        self.handles: set[Handle] = set()
        self.began = 0.0
        self.seconds = 0.0

    def halt(self) -> None:
        """Cancel what runs and send nothing more."""
        self.halted = True
        with self.lock:
            for handle in self.handles:
                handle.cancel()

    def run(self, tell: Callable[[Seen, int], None]) -> None:
        """Serve everything; `tell` hears what the engine is doing, ten times a second."""
        total, self.began = len(self.todo), time.perf_counter()
        with ThreadPoolExecutor(self.clients, thread_name_prefix="client") as pool:
            clients = [pool.submit(self._client) for _ in range(self.clients)]
            while not all(client.done() for client in clients):
                self._watch(tell, total)
                time.sleep(WATCH_SECONDS)
            for client in clients:
                client.result()
        self.seconds = time.perf_counter() - self.began
        self._watch(tell, total)

    def _watch(self, tell: Callable[[Seen, int], None], total: int) -> None:
        stats = self.engine.stats()
        at = 1000 * (time.perf_counter() - self.began)
        seen = Seen(
            round(at, 1), stats["running"], stats["waiting"], stats["kv_bytes_used"], len(self.served)
        )
        self.moments.append(seen)
        tell(seen, total)

    def _client(self) -> None:
        while True:
            with self.lock:
                if self.halted or not self.todo:
                    return
                number, request = self.todo.pop(0)
            served = self._serve(number, request)
            with self.lock:
                self.served.append(served)

    def _serve(self, number: int, request: Request) -> Served:
        from engine import FinishEvent, TokenEvent

        started = time.perf_counter()
        found = Served(number, round(1000 * (started - self.began), 2))
        handle = self.engine.submit(request)
        with self.lock:
            self.handles.add(handle)
        if self.halted:
            handle.cancel()
        last: float | None = None
        for event in handle:
            if isinstance(event, TokenEvent):
                if last is None:
                    found.ttft_ms = round(event.at_ms, 2)
                else:
                    found.gaps_ms.append(round(event.at_ms - last, 2))
                last = event.at_ms
            elif isinstance(event, FinishEvent):
                self._note(found, event)
        with self.lock:
            self.handles.discard(handle)
        found.total_ms = round(1000 * (time.perf_counter() - started), 2)
        return found

    def _note(self, found: Served, event: Any) -> None:
        result = event.result
        found.finish = result.finish_reason
        found.queue_ms = round(result.timings["queue_ms"] or 0.0, 2)
        found.tokens = result.usage["completion_tokens"]
        found.prompt_tokens = result.usage["prompt_tokens"]
        found.cached_tokens = result.usage["cached_tokens"]
        drafts = result.stats.get("speculation") or {}
        found.proposed, found.accepted = drafts.get("proposed", 0), drafts.get("accepted", 0)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: every request, every moment, the time it took."""
        return {
            "served": [asdict(one) for one in sorted(self.served, key=lambda one: one.number)],
            "moments": [asdict(one) for one in self.moments],
            "seconds": round(self.seconds, 4),
        }
