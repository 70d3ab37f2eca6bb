"""Events of a run: a capped Redis stream, so that a reader who comes late or comes back misses nothing."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import redis.asyncio
import structlog
from django.conf import settings

from interview.runs.connection import LOST, client

FLUSH_SECONDS = 0.05
STREAM_LENGTH = 20_000
BLOCK_MILLISECONDS = 2_000
START = "0-0"
log = structlog.get_logger(__name__)


def stream_key(run_id: uuid.UUID) -> str:
    """The stream's key."""
    return f"prefill:run:{run_id}"


def stream_forget(run_id: uuid.UUID) -> None:
    """Delete what was streamed of a run; where Redis is away it expires by itself."""
    try:
        client().delete(stream_key(run_id))
    except LOST:
        log.warning("stream_not_deleted", stream=stream_key(run_id))


class Publisher:
    """Writes one run's events. Tokens are gathered for 50 ms at most; the first goes out at once."""

    def __init__(self, run_id: uuid.UUID) -> None:
        self.key = stream_key(run_id)
        self._tokens: list[dict[str, Any]] = []
        self._flushed = 0.0
        self._lost = False
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def emit(self, kind: str, data: dict[str, Any]) -> None:
        """Publish an event; `token` events are batched into `tokens`."""
        with self._lock:
            if kind == "token":
                self._gather(data)
            else:
                self._flush()
                self._write(kind, data)

    def flush(self) -> None:
        """Send the tokens gathered so far."""
        with self._lock:
            self._flush()

    def _gather(self, token: dict[str, Any]) -> None:
        """Keep a token until 50 ms are over, by a clock of its own: the next token may be long in coming."""
        self._tokens.append(token)
        wait = self._flushed + FLUSH_SECONDS - time.monotonic()
        if wait <= 0:
            self._flush()
        elif self._timer is None:
            self._timer = threading.Timer(wait, self.flush)
            self._timer.daemon = True
            self._timer.start()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._tokens:
            batch, self._tokens = self._tokens, []
            self._write("tokens", {"tokens": batch, "at": round(time.time(), 4)})
            self._flushed = time.monotonic()

    def _write(self, kind: str, data: dict[str, Any]) -> None:
        if self._lost:
            return
        try:
            with client().pipeline(transaction=False) as pipe:
                pipe.xadd(
                    self.key,
                    {"event": kind, "data": json.dumps(data)},
                    maxlen=STREAM_LENGTH,
                    approximate=True,
                )
                pipe.expire(self.key, settings.RUN_EVENTS_TTL_SECONDS)
                pipe.execute()
        except LOST:
            # The result is stored in the database all the same; only the live view is lost.
            self._lost = True
            log.warning("events_lost", stream=self.key)


async def read(
    connection: redis.asyncio.Redis, run_id: uuid.UUID, after: str
) -> AsyncIterator[tuple[str, str, str] | None]:
    """Yield (id, event, data) after an id for ever; None whenever nothing came for two seconds."""
    last = after
    while True:
        answer: Any = await connection.xread({stream_key(run_id): last}, block=BLOCK_MILLISECONDS, count=200)
        if not answer:
            yield None
            continue
        entries = answer[0][1] if isinstance(answer, list) else next(iter(answer.values()))[0]
        for last, fields in entries:
            yield last, fields["event"], fields["data"]
