"""Pages of a run: itself, its standing, its events, its trace, cancel."""

from __future__ import annotations

import uuid

from asgiref.sync import sync_to_async
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from interview.accounts.owners import owner_of
from interview.runs import kinds, selectors, services, stream
from interview.runs.models import SUCCEEDED, Run, RunShare
from interview.runs.replay import replayed
from interview.runs.sharing import shareable

PAGE = 50


def own_run(request: HttpRequest, run_id: uuid.UUID) -> Run:
    run = selectors.run_get(run_id, owner_of(request))
    if run is None:
        raise Http404("No such run.")
    return run


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    """One's own runs, newest first."""
    owner = owner_of(request)
    runs = selectors.run_list(owner)[:PAGE] if owner else []
    return render(request, "runs/run_list.html", {"runs": runs})


@require_safe
def run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """One run with what it made; the same view is the fragment that the page fetches when it has ended."""
    own = own_run(request, run_id)
    template = "runs/run.html#run-result" if request.htmx else "runs/run.html"  # type: ignore[attr-defined]
    kind = kinds.known(own.kind)
    share = RunShare.objects.filter(run=own).first()
    context = {
        "run": own,
        "standing": selectors.standing(own),
        "trace": selectors.trace_get(own),
        "replayed": replayed(own, own.owner),
        "can_replay": kind is not None and kind.replays and own.state == SUCCEEDED and not own.erased,
        "can_share": shareable(own),
        "share": request.build_absolute_uri(reverse("runs:shared", args=[share.key])) if share else "",
    }
    return render(request, template, context)


@require_safe
def status(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The standing as a fragment, for browsers without event streams; 286 tells htmx to stop asking."""
    own = own_run(request, run_id)
    response = render(request, "runs/_status.html", {"run": own, "standing": selectors.standing(own)})
    if own.ended:
        response.status_code = 286
        response["HX-Trigger"] = "run-ended"
    return response


async def events(request: HttpRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """The run's event stream; `Last-Event-ID` (or `?after=`) resumes it."""
    if request.method != "GET":
        return HttpResponse(status=405, headers={"Allow": "GET"})
    await sync_to_async(own_run)(request, run_id)
    after = stream.resume_point(request.headers.get("Last-Event-ID"), request.GET.get("after"))
    return StreamingHttpResponse(
        stream.run_events(run_id, after),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


@require_POST
def cancel(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Stop a run; one that has ended stays as it is."""
    own = services.run_cancel(own_run(request, run_id))
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "runs/_status.html", {"run": own, "standing": selectors.standing(own)})
    return redirect("runs:run", run_id=own.pk)
