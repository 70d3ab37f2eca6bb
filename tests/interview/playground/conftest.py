"""The real model in this process, and a way to do a run as a worker would."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engine.llm import Engine
from engine.registry import DEFAULT_DIR
from interview.accounts.models import User
from interview.runs import kinds
from interview.runs.models import RUNNING, Run
from interview.runs.services import run_create, run_succeed

MODELS_DIR = Path(os.environ.get("MODELS_DIR", str(DEFAULT_DIR)))


@dataclass
class Loaded:
    """What a worker holds, without the grader and the embedder, which no page here uses."""

    engine: Engine
    embedder: Any = None
    grader: Any = None


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with Engine.load(models_dir=MODELS_DIR, threads=2) as loaded:
        yield loaded


@dataclass
class Done:
    """A run that ended well, with the events it emitted."""

    run: Run
    output: dict[str, Any]
    job: kinds.Job
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


Execute = Callable[[User, str, dict[str, Any]], Done]


@pytest.fixture
def execute(engine: Engine) -> Execute:
    """Queue a run, check its input as the API does, execute it on the real model, end it."""

    def do(owner: User, kind: str, body: dict[str, Any]) -> Done:
        run = run_create(owner=owner, kind=kind, input=body)
        Run.objects.filter(pk=run.pk).update(state=RUNNING, attempt=1)
        run.refresh_from_db()
        events: list[tuple[str, dict[str, Any]]] = []
        job = kinds.Job(run=run, models=Loaded(engine), emit=lambda name, data: events.append((name, data)))
        output = kinds.kind_of(run).execute(job)
        assert run_succeed(run, output, job.trace)
        run.refresh_from_db()
        assert run.output is not None
        return Done(run, run.output, job, events)

    return do
