"""Pages of an interview session: plan it, one step after another, the report, and its private link."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview.accounts.owners import owner_of, owner_or_guest
from interview.plain_text import storable, word_count
from interview.practice import selectors, session_selectors, sessions
from interview.practice.forms import AnswerForm, SessionForm
from interview.practice.models import ANSWER_LIMIT, InterviewSession, SessionItem
from interview.practice.report import report as report_of
from interview.practice.services import AnswerRefused, draft_keep
from interview.practice.session_selectors import Step
from interview.practice.views import INCOMPLETE
from interview.questions import selectors as questions
from interview.runs import selectors as runs
from interview.runs.services import IdempotencyConflict

RECENT = 20


def _own(request: HttpRequest, session_id: uuid.UUID) -> InterviewSession:
    session = session_selectors.session_get(session_id, owner_of(request))
    if session is None:
        raise Http404("No such session.")
    return session


def _own_item(request: HttpRequest, session_id: uuid.UUID, position: int) -> SessionItem:
    item = session_selectors.item_get(_own(request, session_id), position)
    if item is None:
        raise Http404("No such question in this session.")
    return item


@require_http_methods(["GET", "HEAD", "POST"])
def session_list(request: HttpRequest) -> HttpResponse:
    """Plan a session, and the sessions so far."""
    topics = list(questions.topic_list())
    form = SessionForm(request.POST if request.method == "POST" else None, topics=topics)
    if form.is_valid():
        try:
            session = sessions.session_start(owner=owner_or_guest(request), **form.cleaned_data)
        except sessions.NoQuestions as nothing:
            form.add_error(None, str(nothing))
        else:
            return redirect("practice:session", session_id=session.pk)
    context = {"form": form, "sessions": session_selectors.session_list(owner_of(request))[:RECENT]}
    return render(request, "practice/session_list.html", context, status=422 if form.errors else 200)


@never_cache
@require_safe
def session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """The step the session is at: a question, its assessment, a follow-up; the report when all is done."""
    return _step_page(request, _own(request, session_id))


def _step_page(
    request: HttpRequest,
    own: InterviewSession,
    *,
    text: str | None = None,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    items = session_selectors.items_of(own)
    step = session_selectors.current_step(own, items)
    if step.kind == "report":
        sessions.session_end(own)
        return redirect("practice:report", session_id=own.pk)
    assert step.item is not None
    if step.kind == "question" and request.method != "HEAD":
        sessions.item_open(step.item)
    context = {
        "session": own,
        "step": step,
        "item": step.item,
        "question": step.item.question,
        "n_items": len(items),
        "deadline": step.deadline(own.minutes),
        "error": error,
        "limit": ANSWER_LIMIT,
        "idempotency_key": uuid.uuid4().hex,
        **_step_context(request, step, text),
    }
    return render(request, "practice/session.html", context, status=status)


def _step_context(request: HttpRequest, step: Step, text: str | None) -> dict[str, object]:
    assert step.item is not None
    if step.kind == "waiting":
        assert step.item.attempt is not None and step.item.attempt.run is not None
        run = step.item.attempt.run
        return {"run": run, "standing": runs.standing(run)}
    if step.kind == "probe":
        return {"text": text or ""}
    draft = selectors.draft_get(owner_of(request), step.item.question)
    shown = text if text is not None else draft.text if draft else ""
    return {"draft": draft, "text": shown, "n_words": word_count(shown)}


def _answered(request: HttpRequest) -> tuple[AnswerForm, str, str]:
    """The form, its text, and what is wrong with it."""
    text = storable(request.POST.get("text", ""))
    form = AnswerForm({**request.POST.dict(), "text": text})
    return form, text, "" if form.is_valid() else INCOMPLETE


def _next_step(request: HttpRequest, item: SessionItem, text: str, error: str) -> HttpResponse:
    """On to what comes next, or the same step again with the text and what is wrong with it."""
    if error:
        return _step_page(request, item.session, text=text, error=error, status=422)
    return redirect("practice:session", session_id=item.session_id)


@require_POST
def session_answer(request: HttpRequest, session_id: uuid.UUID, position: int) -> HttpResponse:
    """Answer a question of the session; a refused answer comes back with its text and the reason."""
    item = _own_item(request, session_id, position)
    form, text, error = _answered(request)
    if not error:
        try:
            key, seen = form.cleaned_data["idempotency_key"], form.cleaned_data["seen"]
            sessions.item_answer(item=item, text=text, idempotency_key=key, seen=seen)
        except sessions.StepPassed as passed:
            draft_keep(owner=item.session.owner, question=item.question, text=text)
            messages.warning(request, str(passed))
        except (AnswerRefused, IdempotencyConflict) as refused:
            error = str(refused)
    return _next_step(request, item, text, error)


@require_POST
def session_skip(request: HttpRequest, session_id: uuid.UUID, position: int) -> HttpResponse:
    """Go on without answering."""
    try:
        sessions.item_skip(item=_own_item(request, session_id, position))
    except sessions.StepPassed as passed:
        messages.warning(request, str(passed))
    return redirect("practice:session", session_id=session_id)


@require_POST
def session_probe(request: HttpRequest, session_id: uuid.UUID, position: int, probe: int) -> HttpResponse:
    """Answer a follow-up, or pass over it."""
    item = _own_item(request, session_id, position)
    if item.attempt is None or item.attempt.verdict is None or probe >= len(item.question.probes):
        raise Http404("No such follow-up.")
    if "pass" in request.POST:
        sessions.probe_pass(item=item, probe=probe)
        return redirect("practice:session", session_id=session_id)
    form, text, error = _answered(request)
    if not error:
        try:
            key = form.cleaned_data["idempotency_key"]
            sessions.probe_answer(item=item, probe=probe, text=text, idempotency_key=key)
        except (AnswerRefused, IdempotencyConflict) as refused:
            error = str(refused)
    return _next_step(request, item, text, error)


@require_POST
def session_end(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """End the session now."""
    sessions.session_end(_own(request, session_id))
    return redirect("practice:report", session_id=session_id)


@never_cache
@require_safe
def report(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """The report, for its owner: with the key points and what to do next."""
    own = _own(request, session_id)
    found = report_of(own)
    context = {
        "session": own,
        "report": found,
        "is_owner": True,
        "waiting": any(line.state == "being assessed" for line in found.questions),
        "share_url": request.build_absolute_uri(reverse("practice:report_shared", args=[own.share_token]))
        if own.share_token
        else "",
    }
    return render(request, "practice/report.html", context)


@require_POST
def report_share(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Make the private link, or revoke it."""
    own = _own(request, session_id)
    if "revoke" in request.POST:
        sessions.report_unshare(own)
        messages.success(request, "The link leads nowhere now.")
    else:
        sessions.report_share(own)
    return redirect(f"{reverse('practice:report', args=[own.pk])}#share")


@never_cache
@require_safe
def report_shared(request: HttpRequest, token: str) -> HttpResponse:
    """The report behind a private link: scores, states and times, without key points and answers."""
    shared = session_selectors.session_shared(storable(token))
    if shared is None:
        raise Http404("This link leads nowhere: it was revoked, or it never was one.")
    context = {"session": shared, "report": report_of(shared), "is_owner": False}
    response = render(request, "practice/report.html", context)
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response
