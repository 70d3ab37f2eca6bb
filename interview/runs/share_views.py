"""Pages of published runs: publish and revoke for the owner; read, download and fork for whoever holds the link."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from interview.accounts.owners import owner_of, owner_or_guest
from interview.runs import kinds, selectors, sharing
from interview.runs.models import SUCCEEDED, Run
from interview.runs.quotas import QuotaExceeded
from interview.runs.trace_views import trace_file
from interview.runs.views import own_run


@require_POST
def share(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Publish a run by a link."""
    run = own_run(request, run_id)
    try:
        sharing.share_create(run)
    except sharing.CannotShare as refusal:
        messages.error(request, str(refusal))
    return redirect("runs:run", run_id=run.pk)


@require_POST
def unshare(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Revoke the link: it opens nothing any more."""
    run = own_run(request, run_id)
    if sharing.share_revoke(run):
        messages.success(request, "The link is revoked. Whoever has it finds nothing any more.")
    return redirect("runs:run", run_id=run.pk)


def _shared(key: str) -> Run:
    run = sharing.shared_run(key)
    if run is None:
        raise Http404("Nothing is shared at this address: the link is wrong, or was revoked.")
    return run


@never_cache
@require_safe
def shared(request: HttpRequest, key: str) -> HttpResponse:
    """A published run with its trace, for whoever has the link."""
    run = _shared(key)
    record = selectors.trace_get(run)
    kind = kinds.known(run.kind)
    context: dict[str, Any] = {
        "run": run,
        "key": key,
        "record": record,
        "raw": json.dumps(record.body, indent=2, ensure_ascii=False) if record else "",
        "own": run.owner == owner_of(request),
        "can_fork": kind is not None and kind.replays,
        "is_shared": True,
    }
    if kind is not None and kind.shown and run.output and run.state == SUCCEEDED:
        context["template"], part = kind.shown(run, request.GET, request.path)
        context |= part
    response = render(request, "runs/shared.html", context)
    response["X-Robots-Tag"] = "noindex"
    return response


@never_cache
@require_safe
def shared_trace(request: HttpRequest, key: str) -> HttpResponse:
    """A published run's trace as a JSON file."""
    record = selectors.trace_get(_shared(key))
    if record is None:
        raise Http404("This run has no trace.")
    return trace_file(record)


@require_POST
def fork(request: HttpRequest, key: str) -> HttpResponse:
    """The same request as a run of one's own, opened where it can be changed."""
    run = _shared(key)
    try:
        own = sharing.run_fork(run, owner_or_guest(request))
    except (sharing.CannotShare, QuotaExceeded) as refusal:
        messages.error(request, str(refusal))
        return redirect("runs:shared", key=key)
    kind = kinds.kind_of(own)
    if kind.page:
        response = redirect(kind.page)
        response["Location"] += f"?run={own.pk}"
        return response
    return redirect("runs:run", run_id=own.pk)
