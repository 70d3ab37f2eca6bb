"""Pages of practice: the question with its answer box, the attempt with its verdict, what is due."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from interview.accounts.owners import owner_of, owner_or_guest
from interview.plain_text import storable, word_count
from interview.practice import dispute_selectors, review_selectors, selectors, services
from interview.practice.forms import AnswerForm, DraftForm
from interview.practice.models import ANSWER_LIMIT, Attempt
from interview.questions import selectors as questions
from interview.questions.models import Question
from interview.runs import selectors as runs
from interview.runs.services import IdempotencyConflict

RECENT = 20
INCOMPLETE = "Send the form again: a part of it was missing."


def _question(request: HttpRequest, question_id: str) -> Question:
    found = questions.question_get(question_id, owner_of(request))
    if found is None:
        raise Http404("No such question.")
    return found


def own_attempt(request: HttpRequest, attempt_id: uuid.UUID) -> Attempt:
    """An attempt of whoever asks; 404 for everybody else."""
    attempt = selectors.attempt_get(attempt_id, owner_of(request))
    if attempt is None:
        raise Http404("No such attempt.")
    return attempt


def _question_page(
    request: HttpRequest, question: Question, *, text: str | None = None, error: str = "", status: int = 200
) -> HttpResponse:
    owner = owner_of(request)
    draft = selectors.draft_get(owner, question)
    shown = text if text is not None else draft.text if draft else ""
    context = {
        "question": question,
        "draft": draft,
        "text": shown,
        "n_words": word_count(shown),
        "error": error,
        "limit": ANSWER_LIMIT,
        "idempotency_key": uuid.uuid4().hex,
        "attempts": selectors.attempt_list(owner).filter(question=question)[:RECENT],
    }
    return render(request, "practice/question.html", context, status=status)


@require_safe
def question(request: HttpRequest, question_id: str) -> HttpResponse:
    """A question with the box to answer it in; a draft is picked up where it was left."""
    return _question_page(request, _question(request, question_id))


@require_POST
def draft_save(request: HttpRequest, question_id: str) -> JsonResponse:
    """Autosave, asked for by draft.js: 409 with the stored text when a newer revision is there."""
    form = DraftForm({**request.POST.dict(), "text": storable(request.POST.get("text", ""))})
    if not form.is_valid():
        return JsonResponse({"code": "invalid", "errors": form.errors}, status=422)
    try:
        draft = services.draft_save(
            owner=owner_or_guest(request), question=_question(request, question_id), **form.cleaned_data
        )
    except services.StaleDraft as stale:
        return JsonResponse(
            {"code": "stale", "revision": stale.draft.revision, "text": stale.draft.text}, status=409
        )
    except services.AnswerRefused as refused:
        return JsonResponse({"code": "too_long", "message": str(refused)}, status=422)
    return JsonResponse({"revision": draft.revision, "words": word_count(draft.text)})


@require_POST
def submit(request: HttpRequest, question_id: str) -> HttpResponse:
    """Submit an answer; a refused one comes back with its text and the reason."""
    asked = _question(request, question_id)
    text = storable(request.POST.get("text", ""))
    form = AnswerForm({**request.POST.dict(), "text": text})
    if not form.is_valid():
        return _question_page(request, asked, text=text, error=INCOMPLETE, status=422)
    try:
        attempt = services.attempt_submit(owner=owner_or_guest(request), question=asked, **form.cleaned_data)
    except (services.AnswerRefused, IdempotencyConflict) as refused:
        return _question_page(request, asked, text=text, error=str(refused), status=422)
    return redirect("practice:attempt", attempt_id=attempt.pk)


@require_safe
def attempt(request: HttpRequest, attempt_id: uuid.UUID) -> HttpResponse:
    """An attempt: its place in the queue while it waits, then the verdict; page and fragment from here."""
    own = own_attempt(request, attempt_id)
    if own.parent_id is not None:
        return redirect("practice:attempt", attempt_id=own.parent_id)
    fragment = "#verdict" if request.htmx else ""  # type: ignore[attr-defined]
    return render(request, f"practice/attempt.html{fragment}", attempt_context(own))


def attempt_context(
    own: Attempt, *, refused: int | None = None, probe_text: str = "", probe_error: str = ""
) -> dict[str, object]:
    """What the page of an attempt shows; a refused answer to a probe stands under that probe again."""
    verdict = selectors.verdict_view(own)
    following = verdict.probe if verdict else None
    pending = [answer.run for answer in own.probe_attempts.select_related("run") if answer.verdict is None]
    return {
        "attempt": own,
        "question": own.question,
        "verdict": verdict,
        "following": following if refused is None else selectors.probe_views(own)[refused],
        "answered": [
            (probe, [(answer, selectors.verdict_view(answer)) for answer in probe.answers])
            for probe in (verdict.answered_probes if verdict else [])
        ],
        "card": selectors.card_get(own.owner, own.question),
        "ratings": review_selectors.rating_choices(own) if verdict else [],
        "next_due": review_selectors.next_due(own.owner, but=own.question_id) if verdict else None,
        "disputed": dispute_selectors.dispute_get(own) if verdict else None,
        "run": own.run if verdict is None else next(iter(pending), None),
        "standing": runs.standing(own.run) if verdict is None and own.run else None,
        "idempotency_key": uuid.uuid4().hex,
        "probe_text": probe_text,
        "probe_error": probe_error,
        "n_words": word_count(own.text),
    }


@require_POST
def probe_submit(request: HttpRequest, attempt_id: uuid.UUID, probe: int) -> HttpResponse:
    """Answer a probe of a graded attempt."""
    own = own_attempt(request, attempt_id)
    if own.parent_id is not None or own.verdict is None or probe >= len(own.question.probes):
        raise Http404("No such probe.")
    text = storable(request.POST.get("text", ""))
    form = AnswerForm({**request.POST.dict(), "text": text})
    error = "" if form.is_valid() else INCOMPLETE
    if not error:
        try:
            key = form.cleaned_data["idempotency_key"]
            answer = services.probe_submit(attempt=own, probe=probe, text=text, idempotency_key=key)
            return redirect(f"{reverse('practice:attempt', args=[own.pk])}#followup-{answer.pk}")
        except (services.AnswerRefused, IdempotencyConflict) as refused:
            error = str(refused)
    context = attempt_context(own, refused=probe, probe_text=text, probe_error=error)
    return render(request, "practice/attempt.html", context, status=422)


@require_POST
def regrade(request: HttpRequest, attempt_id: uuid.UUID) -> HttpResponse:
    """Ask for the assessment again after it failed."""
    own = own_attempt(request, attempt_id)
    services.attempt_regrade(own)
    return redirect("practice:attempt", attempt_id=own.parent_id or own.pk)
