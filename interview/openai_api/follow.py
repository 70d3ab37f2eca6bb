"""Waiting for a run from an async view: its events as they come, and its row once it has ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from interview.openai_api.errors import Refused
from interview.openai_api.translate import CALLERS, CODES, refused
from interview.runs import events, services
from interview.runs.connection import LOST, async_client
from interview.runs.models import ENDED, FAILED, Run, Trace

POLL_SECONDS = 1.0


async def run_follow(run: Run) -> AsyncIterator[tuple[str, Any]]:
    """(event, data) until the run has ended; where events can't be had, only the end is noticed."""
    connection = async_client()
    after = events.START
    try:
        while True:
            try:
                async for item in events.read(connection, run.pk, after):
                    if item is None:
                        if await ended(run):
                            return
                        continue
                    after, event, data = item
                    yield event, json.loads(data)
                    if event == "done":
                        return
            except LOST:
                if await ended(run):
                    return
                await asyncio.sleep(POLL_SECONDS)
    finally:
        await connection.aclose()


async def released(function: Any, *args: Any) -> Any:
    """Call database code in the request's thread and give its connection back before waiting goes on."""

    def call() -> Any:
        try:
            return function(*args)
        finally:
            close_old_connections()

    return await sync_to_async(call)()


async def ended(run: Run) -> bool:
    """Whether the row says so."""
    return bool(await released(lambda: Run.objects.filter(pk=run.pk, state__in=ENDED).exists()))


async def outcome(run: Run) -> Run:
    """The ended run with its output. Raises Refused where it failed or was cancelled by somebody."""
    found, trace = await released(_ended_run, run)
    if found.output is not None and found.state != FAILED:
        return found  # type: ignore[no-any-return]
    if found.state == FAILED:
        told = (trace or {}).get("error")
        error = told if isinstance(told, dict) else {}
        code = error.get("code") or ""
        if code in CODES or code.startswith(CALLERS):
            raise refused(code, found.reason, error.get("field"))
        raise Refused(500, code or "run_failed", found.reason)
    raise Refused(409, "cancelled", "The run was cancelled before it made anything.")


def _ended_run(run: Run) -> tuple[Run, Any]:
    found = Run.objects.get(pk=run.pk)
    trace = Trace.objects.filter(run=run).first() if found.state == FAILED else None
    return found, trace.body if trace else None


async def cancel(run: Run) -> None:
    """The client has gone: nobody waits for this any more."""
    await asyncio.shield(released(services.run_cancel, run))
