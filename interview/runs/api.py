"""JSON of runs: queue one, read it, follow it, cancel it, read its trace."""

from __future__ import annotations

import re
import uuid
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import Field, Router, Schema, Status
from ninja.errors import ValidationError

from interview.accounts.api_auth import session_or_token
from interview.accounts.models import User
from interview.runs import kinds, selectors, services
from interview.runs.models import Run

KEY = r"[A-Za-z0-9_-]{1,60}"
router = Router(tags=["runs"], auth=session_or_token)


class RunIn(Schema):
    """What to run: `kind` generate takes the JSON of the engine's command line as `input`."""

    kind: str = Field(max_length=32)
    input: dict[str, Any]
    idempotency_key: str | None = Field(None, min_length=1, max_length=60, pattern=f"^{KEY}$")


class RunOut(Schema):
    """A run as its owner sees it."""

    id: uuid.UUID
    kind: str
    state: str
    reason: str
    position: int
    attempt: int
    created: datetime
    started: datetime | None
    finished: datetime | None
    output: dict[str, Any] | None
    url: str
    events: str


def run_out(run: Run) -> RunOut:
    """A run as JSON."""
    return RunOut(
        id=run.pk,
        kind=run.kind,
        state=run.state,
        reason=run.reason,
        position=selectors.standing(run).position,
        attempt=run.attempt,
        created=run.created,
        started=run.started,
        finished=run.finished,
        output=run.output,
        url=reverse("runs:run", args=[run.pk]),
        events=reverse("run_events", args=[run.pk]),
    )


def _owner(request: HttpRequest) -> User:
    return request.auth  # type: ignore[attr-defined, no-any-return]


def _own(request: HttpRequest, run_id: uuid.UUID) -> Run:
    run = selectors.run_get(run_id, _owner(request))
    if run is None:
        raise Http404("No such run.")
    return run


def _key(request: HttpRequest, given: str | None) -> str | None:
    """The key from the body or the header `Idempotency-Key`. Raises ValidationError for two keys, or one that is none."""
    header = request.headers.get("Idempotency-Key", "")
    fault = ""
    if header and not re.fullmatch(KEY, header):
        fault = "Idempotency-Key takes 1 to 60 letters, digits, - and _."
    elif header and given and header != given:
        fault = "The header Idempotency-Key and the body's idempotency_key differ. Send one of them."
    if fault:
        raise ValidationError([{"loc": ["header", "Idempotency-Key"], "msg": fault}])
    return header or given


@router.post("/runs", response={202: RunOut})
def run_create(request: HttpRequest, body: RunIn) -> Status[RunOut]:
    """Queue a run; the same key and body again give the same run, another body 409."""
    run = services.run_create(
        owner=_owner(request),
        kind=body.kind,
        input=kinds.checked_input(body.kind, body.input),
        idempotency_key=_key(request, body.idempotency_key),
    )
    return Status(202, run_out(run))


@router.get("/runs/{run_id}", response=RunOut)
def run(request: HttpRequest, run_id: uuid.UUID) -> RunOut:
    """One of one's own runs."""
    return run_out(_own(request, run_id))


@router.post("/runs/{run_id}/cancel", response=RunOut)
def cancel(request: HttpRequest, run_id: uuid.UUID) -> RunOut:
    """Cancel it; one that has ended stays as it is."""
    return run_out(services.run_cancel(_own(request, run_id)))


@router.get("/runs/{run_id}/trace", response=dict[str, Any])
def trace(request: HttpRequest, run_id: uuid.UUID) -> dict[str, Any]:
    """The immutable record, once the run has ended."""
    record = selectors.trace_get(_own(request, run_id))
    if record is None:
        raise Http404("This run has no trace yet: it is written when the run ends.")
    link = record.entry
    return {
        "hash": record.hash,
        "link": {"sequence": link.sequence, "previous": link.previous, "hash": link.hash},
        "trace": record.body,
    }
