"""Doing an assignment: start, write, flag, hand in, receipt, feedback."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone

from interview.accounts.sessions import AccountRequest
from interview.plain_text import is_blank, storable, word_count
from interview.practice.forms import DraftForm
from interview.practice.models import ANSWER_LIMIT
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import LEARNER, Answer, Attachment, Submission
from interview.teaching.rights import Seat, seat_of
from interview.teaching.selectors import assignments as selectors
from interview.teaching.selectors import results
from interview.teaching.services import work as services
from interview.teaching.views.assignments import assignment_or_404, attachment_response
from interview.teaching.views.pages import reads, writes

ONLY_LEARNERS = frozenset({LEARNER})


@writes
def attempt_start(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """Start an attempt, or go on with the one that is open."""
    seat = seat_of(request.user, class_id, ONLY_LEARNERS, writes=True)
    assignment = assignment_or_404(seat, assignment_id)
    submission = services.attempt_start(assignment=assignment, learner=request.user)
    return redirect("teaching:work", submission_id=submission.pk, number=1)


def _own(request: AccountRequest, submission_id: uuid.UUID) -> tuple[Submission, Seat]:
    """One's own attempt, handed in by the clock if its time is up, and one's seat in its class."""
    found = (
        Submission.objects.select_related("assignment__classroom", "owner", "run")
        .filter(pk=submission_id, owner=request.user)
        .first()
    )
    if found is None:
        raise Http404("No such attempt.")
    seat = seat_of(request.user, found.assignment.classroom_id)
    return services.attempt_settle(submission=found), seat


def _answers(submission: Submission) -> list[Answer]:
    """The answers in the learner's order."""
    place = {pk: index for index, pk in enumerate(submission.order)}
    rows = submission.answers.select_related("item")
    return sorted(rows, key=lambda answer: place.get(answer.item_id, len(place)))


def _page(
    request: AccountRequest,
    submission: Submission,
    seat: Seat,
    number: int,
    *,
    text: str | None = None,
    error: str = "",
    theirs: str | None = None,
    status: int = 200,
) -> HttpResponse:
    answers = _answers(submission)
    if not 1 <= number <= len(answers):
        raise Http404("No such question.")
    answer = answers[number - 1]
    window = selectors.window_for(submission.assignment, request.user)
    shown = answer.text if text is None else text
    context = {
        "seat": seat,
        "assignment": submission.assignment,
        "submission": submission,
        "answer": answer,
        "item": answer.item,
        "number": number,
        "n_items": len(answers),
        "steps": [(index, row.item, _state(row)) for index, row in enumerate(answers, start=1)],
        "flagged": submission.flags,
        "text": shown,
        "n_words": word_count(shown),
        "limit": ANSWER_LIMIT,
        "error": error,
        "theirs": theirs,
        "now": timezone.now(),
        "ends": window.ends(submission.started),
        "window": window,
        "attachments": [
            (row, row.pk in submission.opened) for row in submission.assignment.attachments.all()
        ],
    }
    return render(request, "teaching/work.html", context, status=status)


def _state(answer: Answer) -> str:
    return "" if is_blank(answer.text) else "written"


@reads
def work(request: AccountRequest, submission_id: uuid.UUID, number: int) -> HttpResponse:
    """One question of an open attempt."""
    submission, seat = _own(request, submission_id)
    if submission.submitted is not None:
        return redirect("teaching:receipt", submission_id=submission_id)
    return _page(request, submission, seat, number)


@writes
def work_save(request: AccountRequest, submission_id: uuid.UUID, number: int) -> HttpResponse:
    """Save what is written and go where the button says; a refused text comes back with the reason."""
    submission, seat = _own(request, submission_id)
    answers = _answers(submission)
    if not 1 <= number <= len(answers):
        raise Http404("No such question.")
    text = storable(request.POST.get("text", ""))
    item_id = answers[number - 1].item_id
    go = request.POST.get("go", "")
    seen = None if go == "time-up" else _revision(request.POST.get("seen", ""))
    try:
        services.answer_save(submission=submission, item_id=item_id, text=text, seen=seen)
    except services.Closed as closed:
        return _too_late(request, submission, seat, closed, text)
    except services.StaleAnswer as stale:
        return _page(request, submission, seat, number, text=text, theirs=stale.answer.text, status=409)
    except TeachingRefused as refusal:
        return _page(request, submission, seat, number, text=text, error=str(refusal), status=422)
    if go in ("flag", "unflag"):
        services.flag_set(submission=submission, item_id=item_id, on=go == "flag")
        return redirect("teaching:work", submission_id=submission_id, number=number)
    if go == "time-up":
        return _hand_in(request, submission, seat)
    if go.isascii() and go.isdigit() and 1 <= int(go[:4]) <= len(answers):
        return redirect("teaching:work", submission_id=submission_id, number=int(go[:4]))
    return redirect("teaching:hand_in", submission_id=submission_id)


def _revision(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _too_late(
    request: AccountRequest, submission: Submission, seat: Seat, closed: services.Closed, text: str
) -> HttpResponse:
    """What arrived after the end is not taken, and not lost: it comes back to be copied."""
    submission = services.attempt_settle(submission=submission)
    context = {
        "seat": seat,
        "assignment": submission.assignment,
        "submission": submission,
        "closed": closed,
        "text": text,
    }
    return render(request, "teaching/too_late.html", context, status=409)


@writes
def answer_draft(request: AccountRequest, submission_id: uuid.UUID, number: int) -> JsonResponse:
    """Autosave, asked for by draft.js: 409 with the stored text when a newer revision is there."""
    form = DraftForm({**request.POST.dict(), "text": storable(request.POST.get("text", ""))})
    if not form.is_valid():
        return JsonResponse({"code": "invalid", "errors": form.errors}, status=422)
    submission, _ = _own(request, submission_id)
    answers = _answers(submission)
    if not 1 <= number <= len(answers):
        raise Http404("No such question.")
    try:
        answer = services.answer_save(
            submission=submission, item_id=answers[number - 1].item_id, **form.cleaned_data
        )
    except services.StaleAnswer as stale:
        body = {"code": "stale", "revision": stale.answer.revision, "text": stale.answer.text}
        return JsonResponse(body, status=409)
    except TeachingRefused as refusal:
        return JsonResponse({"code": refusal.code, "message": str(refusal)}, status=422)
    return JsonResponse({"revision": answer.revision, "words": word_count(answer.text)})


@reads
def hand_in(request: AccountRequest, submission_id: uuid.UUID) -> HttpResponse:
    """Look over the attempt before it is handed in."""
    submission, seat = _own(request, submission_id)
    if submission.submitted is not None:
        return redirect("teaching:receipt", submission_id=submission_id)
    return _look_over(request, submission, seat)


def _look_over(
    request: AccountRequest, submission: Submission, seat: Seat, *, error: str = "", status: int = 200
) -> HttpResponse:
    window = selectors.window_for(submission.assignment, request.user)
    answers = _answers(submission)
    now = timezone.now()
    context: dict[str, Any] = {
        "seat": seat,
        "assignment": submission.assignment,
        "submission": submission,
        "rows": [(index, row, _state(row)) for index, row in enumerate(answers, start=1)],
        "n_empty": sum(not _state(row) for row in answers),
        "now": now,
        "ends": window.ends(submission.started),
        "credit": window.credit(now),
        "late": window.late_by(now),
        "error": error,
    }
    return render(request, "teaching/hand_in.html", context, status=status)


@writes
def hand_in_confirm(request: AccountRequest, submission_id: uuid.UUID) -> HttpResponse:
    """Hand the attempt in. A second click finds it handed in."""
    submission, seat = _own(request, submission_id)
    return _hand_in(request, submission, seat)


def _hand_in(request: AccountRequest, submission: Submission, seat: Seat) -> HttpResponse:
    try:
        services.hand_in(submission=submission)
    except services.Closed:
        services.attempt_settle(submission=submission)
    except TeachingRefused as refusal:
        return _look_over(request, submission, seat, error=str(refusal), status=422)
    return redirect("teaching:receipt", submission_id=submission.pk)


@reads
def receipt(request: AccountRequest, submission_id: uuid.UUID) -> HttpResponseBase:
    """What was handed in, when, and the hash that proves it; as JSON too."""
    submission, seat = _own(request, submission_id)
    if submission.submitted is None:
        return redirect("teaching:work", submission_id=submission_id, number=1)
    answers = list(submission.answers.select_related("item__rubric").order_by("item__position"))
    if request.GET.get("format") == "json":
        document = services.receipt_document(submission, answers)
        return JsonResponse({"receipt": submission.receipt, "handed_in": document})
    window = selectors.window_for(submission.assignment, request.user)
    context = {
        "seat": seat,
        "assignment": submission.assignment,
        "submission": submission,
        "rows": answers,
        "late": window.late_by(submission.submitted),
        "credit": window.credit(submission.submitted),
    }
    return render(request, "teaching/receipt.html", context)


@reads
def result(request: AccountRequest, submission_id: uuid.UUID) -> HttpResponse:
    """The feedback on an attempt, as far as the policy allows now."""
    submission, seat = _own(request, submission_id)
    if submission.submitted is None:
        return redirect("teaching:work", submission_id=submission_id, number=1)
    context = {"seat": seat, "assignment": submission.assignment, **results.released(submission)}
    return render(request, "teaching/result.html", context)


@reads
def work_attachment(
    request: AccountRequest, submission_id: uuid.UUID, attachment_id: int
) -> HttpResponseBase:
    """Open what goes with the assignment."""
    submission, _ = _own(request, submission_id)
    found = Attachment.objects.filter(assignment=submission.assignment, pk=attachment_id).first()
    if found is None:
        raise Http404("No such attachment.")
    services.attachment_opened(submission=submission, attachment=found)
    return attachment_response(found)
