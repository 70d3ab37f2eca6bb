"""What can be run. Each app registers its kinds in `ready()`, so that `runs` imports no app above it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from django.conf import settings

from interview.runs.models import Run

if TYPE_CHECKING:
    from engine import Engine, Grader
    from engine.embeddings import Embedder

JSON = dict[str, Any]


class RunFailed(Exception):
    """The run can't succeed and trying again won't help; the message is shown to its owner."""


class InputRefused(Exception):
    """The input of a run can't be used: a stable code, where the fault is, what is allowed."""

    def __init__(self, code: str, message: str, loc: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.loc = loc


class Interrupted(Exception):
    """The worker is stopping: the run goes back to the queue untouched."""


class Models(Protocol):
    """What the worker holds loaded."""

    engine: Engine
    embedder: Embedder
    grader: Grader


@dataclass
class Job:
    """One attempt at a run, as its kind's `execute` sees it."""

    run: Run
    models: Models
    emit: Callable[[str, JSON], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)
    trace: JSON = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    expired: bool = False
    on_halt: Callable[[], None] | None = None

    @property
    def input(self) -> JSON:
        return self.run.input  # type: ignore[no-any-return]

    @property
    def halted(self) -> bool:
        """Whether the owner cancelled, the worker is stopping, or the time is over."""
        return self.cancelled.is_set() or self.stopping.is_set() or self.expired

    @contextmanager
    def stage(self, name: str, **facts: Any) -> Iterator[JSON]:
        """Time a stage for the trace; what is put into the yielded dict stands beside its name."""
        noted: JSON = {"name": name, **facts}
        self.trace.setdefault("stages", []).append(noted)
        began = time.perf_counter()
        try:
            yield noted
        finally:
            noted["ms"] = round(1000 * (time.perf_counter() - began), 2)

    def call_on_halt(self, action: Callable[[], None]) -> None:
        """Have `action` called once when the job is halted, at once if it already is."""
        self.on_halt = action
        if self.halted:
            action()

    def halt(self) -> None:
        """Tell the code that waits inside the model to come back."""
        if self.on_halt is not None:
            self.on_halt()


@dataclass(frozen=True)
class Kind:
    """A named sort of run: `execute` works in the worker, `ended` runs in the finishing transaction.

    `page` is the URL name of the page that shows such a run with `?run=`.
    `erasable` is off where another row needs the input and is itself what holds the owner's words.
    `replays` is on where the output depends on nothing but the input and the model, so that it can be done again;
    `pin` then puts what was drawn (from the trace) into the input, where that is more than the sampling's seed.
    `shown` gives the template and context by which a shared run is read: of the run, the query and the page's address.
    `at_once` is how many of them one worker does at a time where more would only stand in each other's way.
    `looks_inside` is on where the model itself is needed, which a server behind ENGINE_URL doesn't show.
    A kind with a `check` may be queued through the API: it returns the input to store or raises InputRefused.
    """

    name: str
    title: str
    execute: Callable[[Job], JSON]
    ended: Callable[[Run], None] | None = None
    check: Callable[[JSON], JSON] | None = None
    counts_against_quota: bool = True
    page: str = ""
    erasable: bool = True
    replays: bool = False
    pin: Callable[[JSON, JSON], JSON] | None = None
    shown: Callable[[Run, Mapping[str, str], str], tuple[str, JSON]] | None = None
    at_once: int | None = None
    looks_inside: bool = False


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Make a kind known; the last registration of a name wins (autoreload)."""
    _kinds[kind.name] = kind


def kind_of(run: Run) -> Kind:
    """The kind of a run. Raises KeyError for a kind this version doesn't know."""
    return _kinds[run.kind]


def known(name: str) -> Kind | None:
    """A kind by name, None for one this version doesn't know."""
    return _kinds.get(name)


def checked_input(kind: str, body: JSON) -> JSON:
    """The input of a run asked for through the API. Raises InputRefused."""
    public = sorted(name for name, each in _kinds.items() if each.check is not None)
    found = known(kind)
    if found is None or found.check is None:
        raise InputRefused("unknown_kind", f"Unknown kind {kind!r}. Allowed: {', '.join(public)}.")
    if fault := remote_fault(kind):
        raise InputRefused("not_remote", fault)
    return found.check(body)


def remote_fault(name: str) -> str:
    """Why no run of this kind can be queued where the model runs on somebody's server; nothing where it can."""
    found = known(name)
    if found is None or not found.looks_inside or not settings.ENGINE_URL:
        return ""
    return (
        "This needs the model itself, and this site's model runs on a server that doesn't show it (ENGINE_URL). "
        "It works with a local model."
    )


def limited() -> dict[str, int]:
    """Kinds of which one worker does only so many at a time."""
    return {kind.name: kind.at_once for kind in _kinds.values() if kind.at_once is not None}


def quota_kinds() -> list[str]:
    """Names of the kinds whose waiting runs are limited per owner."""
    return [kind.name for kind in _kinds.values() if kind.counts_against_quota]
