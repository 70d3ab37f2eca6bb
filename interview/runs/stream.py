"""Server-sent events of one run: the stream where there is one, the database where it is gone."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from interview.runs import events, services
from interview.runs.connection import LOST, async_client
from interview.runs.models import ENDED, QUEUED, Run
from interview.runs.selectors import standing

STREAM_ID = re.compile(r"\d{1,20}-\d{1,20}")
LARGEST_ID = 2**64 - 1
PING_SECONDS = 15.0
FALLBACK_SECONDS = 1.0


def resume_point(header: str | None, query: str | None) -> str:
    """The stream id to go on after: Last-Event-ID, or `after`, or the beginning."""
    value = header or query or ""
    known = STREAM_ID.fullmatch(value) and all(int(part) <= LARGEST_ID for part in value.split("-"))
    return value if known else events.START


def message(event: str, data: str, event_id: str = "") -> bytes:
    """One event in the wire format; data is JSON and so holds no line break."""
    head = f"id: {event_id}\n" if event_id else ""
    return f"{head}event: {event}\ndata: {data}\n\n".encode()


async def run_events(run_id: uuid.UUID, after: str) -> AsyncIterator[bytes]:
    """Events of a run until it has ended, with a ping every 15 s; survives a lost Redis by asking the database."""
    yield b"retry: 1000\n\n"
    state = ""
    connection = async_client()
    try:
        while True:
            try:
                async for chunk in _from_stream(connection, run_id, after):
                    if chunk.startswith(b"id: "):
                        after = chunk[4:].split(b"\n", 1)[0].decode()
                    yield chunk
                    if b"\nevent: done\n" in chunk or chunk.startswith(b"event: done\n"):
                        return
            except LOST:
                current, line = await _standing_line(run_id)
                if line != state:
                    state = line
                    yield message("state", line)
                if current in ENDED:
                    yield message("done", json.dumps({"state": current}))
                    return
                await asyncio.sleep(FALLBACK_SECONDS)
    finally:
        await connection.aclose()


async def _from_stream(connection: object, run_id: uuid.UUID, after: str) -> AsyncIterator[bytes]:
    """Events from Redis; when quiet, the standing from the database, or a ping."""
    said = ""
    quiet = 0.0
    current, said = await _standing_line(run_id)
    yield message("state", said)
    async for entry in events.read(connection, run_id, after):  # type: ignore[arg-type]
        if entry is not None:
            event_id, event, data = entry
            quiet = 0.0
            yield message(event, data, event_id)
            continue
        quiet += events.BLOCK_MILLISECONDS / 1000
        current, line = await _standing_line(run_id)
        if line != said:
            said = line
            yield message("state", line)
        elif quiet >= PING_SECONDS:
            quiet = 0.0
            yield b": ping\n\n"
        if current in ENDED:
            yield message("done", json.dumps({"state": current}))
            return


@sync_to_async
def _standing_line(run_id: uuid.UUID) -> tuple[str, str]:
    try:
        run = Run.objects.only(
            "id", "owner", "kind", "state", "reason", "created", "started", "finished", "cancel_requested"
        ).get(pk=run_id)
        now = standing(run)
        line = {"state": now.state, "words": now.words, "position": now.position}
        if run.state == QUEUED and not now.worker_ready:
            services.runs_reap()
        return run.state, json.dumps(line)
    finally:
        # A stream lives long and asks seldom: its connection goes back to the pool in between.
        close_old_connections()
