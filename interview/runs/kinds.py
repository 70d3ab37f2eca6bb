"""What can be run. Each app registers its kinds in `ready()`, so that `runs` imports no app above it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from interview.runs.models import Run

if TYPE_CHECKING:
    from engine import Engine, Grader

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
    on_halt: Callable[[], None] | None = None

    @property
    def input(self) -> JSON:
        return self.run.input  # type: ignore[no-any-return]

    @property
    def halted(self) -> bool:
        """Whether the owner cancelled or the worker is stopping."""
        return self.cancelled.is_set() or self.stopping.is_set()

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
    A kind with a `check` may be queued through the API: it returns the input to store or raises InputRefused.
    """

    name: str
    title: str
    execute: Callable[[Job], JSON]
    ended: Callable[[Run], None] | None = None
    check: Callable[[JSON], JSON] | None = None
    counts_against_quota: bool = True
    page: str = ""


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Make a kind known; the last registration of a name wins (autoreload)."""
    _kinds[kind.name] = kind


def kind_of(run: Run) -> Kind:
    """The kind of a run. Raises KeyError for a kind this version doesn't know."""
    return _kinds[run.kind]


def checked_input(kind: str, body: JSON) -> JSON:
    """The input of a run asked for through the API. Raises InputRefused."""
    public = sorted(name for name, known in _kinds.items() if known.check is not None)
    known = _kinds.get(kind)
    if known is None or known.check is None:
        raise InputRefused("unknown_kind", f"Unknown kind {kind!r}. Allowed: {', '.join(public)}.")
    return known.check(body)


def quota_kinds() -> list[str]:
    """Names of the kinds whose waiting runs are limited per owner."""
    return [kind.name for kind in _kinds.values() if kind.counts_against_quota]
