"""Work that the clock asks for, done by one worker at a time. Rooms above the queue register theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog
from django.db import close_old_connections

from interview.runs.connection import client

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Chore:
    """Something to do every so many seconds; doing it twice must change nothing."""

    name: str
    seconds: int
    action: Callable[[], object]


_chores: dict[str, Chore] = {}


def register(name: str, seconds: int, action: Callable[[], object]) -> None:
    """Make a chore known; the last registration of a name wins (autoreload)."""
    _chores[name] = Chore(name, seconds, action)


def run_due() -> list[str]:
    """Do what is due and nobody else has taken; the names of what was done. A failing chore is logged."""
    done = []
    for chore in _chores.values():
        if not client().set(f"prefill:chore:{chore.name}", "taken", nx=True, ex=chore.seconds):
            continue
        try:
            chore.action()
            done.append(chore.name)
        except Exception:  # one room's chore must not keep the others from theirs
            log.exception("chore_failed", chore=chore.name)
    close_old_connections()
    return done
