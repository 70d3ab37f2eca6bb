"""Grading by hand: the queue, one answer, rulings, disputes."""

from __future__ import annotations

import uuid
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from interview.accounts.sessions import AccountRequest
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import (
    STAFF,
    Answer,
    Dispute,
    Membership,
    Override,
)
from interview.teaching.rights import Seat, seat_of
from interview.teaching.selectors import assignments as selectors
from interview.teaching.selectors import review
from interview.teaching.selectors.results import answer_view
from interview.teaching.services import assess, grading, notices
from interview.teaching.services.work import attempts_settle
from interview.teaching.views.assignments import assignment_or_404
from interview.teaching.views.pages import reads, writes


@reads
def review_queue(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """What waits for a teacher."""
    seat = seat_of(request.user, class_id, STAFF)
    assignment = assignment_or_404(seat, assignment_id)
    attempts_settle(assignment=assignment)
    asked = request.GET.get("question", "")
    item_id = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 12 else None
    everything, hide = request.GET.get("all") == "1", request.GET.get("hide") == "1"
    lines = review.queue(assignment, item_id=item_id, everything=everything, hide_names=hide)
    grading.access_note_list(
        classroom=seat.classroom,
        reader=request.user,
        learners=[line.answer.submission.owner_id for line in lines],
        what=f"{assignment.title}: list of answers to review",
    )
    context = {
        "seat": seat,
        "tab": "grades",
        "assignment": assignment,
        "lines": lines,
        "items": selectors.item_list(assignment),
        "item_id": item_id,
        "everything": everything,
        "hide": hide,
    }
    return render(request, "teaching/review.html", context)


def _answer(seat: Seat, answer_id: int) -> Answer:
    found = (
        Answer.objects.select_related(
            "item__rubric", "item__assignment__classroom", "submission__owner", "submission__run"
        )
        .filter(pk=answer_id, item__assignment__classroom=seat.classroom, submission__submitted__isnull=False)
        .first()
    )
    if found is None:
        raise Http404("No such answer.")
    return found


@reads
def answer(request: AccountRequest, class_id: uuid.UUID, answer_id: int) -> HttpResponse:
    """One answer with its verdict and everything a teacher can do about it. Reading it is written down."""
    seat = seat_of(request.user, class_id, STAFF)
    found = _answer(seat, answer_id)
    grading.access_note(
        classroom=seat.classroom,
        reader=request.user,
        learner=found.submission.owner,
        what=f"{found.item.assignment.title}: {found.item.title}",
    )
    return _page(request, seat, found)


def _page(
    request: AccountRequest, seat: Seat, found: Answer, *, error: str = "", status: int = 200
) -> HttpResponse:
    rulings = list(Override.objects.filter(answer=found).select_related("author"))
    active = {row.point: row for row in rulings if row.removed is None}
    means = {point["id"]: point["means"] for point in found.item.rubric.body["points"]}
    assignment = found.item.assignment
    window = selectors.window_for(assignment, found.submission.owner)
    hide = request.GET.get("hide") == "1"
    member = Membership.objects.filter(classroom=seat.classroom, owner=found.submission.owner).first()
    lines = review.queue(assignment, hide_names=True)
    following = next((line.answer for line in lines if line.answer.pk != found.pk), None)
    context: dict[str, Any] = {
        "seat": seat,
        "tab": "grades",
        "assignment": assignment,
        "answer": found,
        "item": found.item,
        "view": answer_view(found, {row.point: row.state for row in active.values() if row.point}),
        "rubric_points": found.item.rubric.body["points"],
        "rulings": [(row, means.get(row.point, row.point)) for row in rulings],
        "seen": max((row.pk for row in rulings), default=0),
        "score": selectors.score_of(found.submission, window),
        "disputes": Dispute.objects.filter(answer=found),
        "member": member,
        "hide": hide,
        "following": following,
        "n_waiting": len(lines),
        "error": error,
        "typed": request.POST,
        "states": ["met", "partial", "missing", "contradicted"],
    }
    return render(request, "teaching/answer.html", context, status=status)


def _back(class_id: uuid.UUID, answer_id: int, request: AccountRequest) -> HttpResponse:
    response = redirect("teaching:answer", class_id=class_id, answer_id=answer_id)
    if request.POST.get("hide") == "1":
        response["Location"] += "?hide=1"
    return response


@writes
def override(request: AccountRequest, class_id: uuid.UUID, answer_id: int) -> HttpResponse:
    """Rule on a key point or on the whole answer."""
    seat = seat_of(request.user, class_id, STAFF, writes=True)
    found = _answer(seat, answer_id)
    reason, point = request.POST.get("reason", ""), request.POST.get("point", "")
    if told := _ruled_meanwhile(request, found):
        return _page(request, seat, found, error=told, status=409)
    try:
        if point:
            state = request.POST.get("state", "")
            grading.override_point(answer=found, author=request.user, point=point, state=state, reason=reason)
        else:
            points = decimal_of(request.POST.get("points", ""))
            grading.override_points(answer=found, author=request.user, points=points, reason=reason)
    except TeachingRefused as refusal:
        return _page(request, seat, found, error=str(refusal), status=422)
    messages.success(request, "The score is yours now. Taking it back brings the automatic one back.")
    return _back(class_id, answer_id, request)


def _ruled_meanwhile(request: AccountRequest, found: Answer) -> str:
    """What somebody else ruled since the page was opened; the second press, on a page that shows it, is meant."""
    shown = request.POST.get("seen", "")
    seen = int(shown[:18]) if shown.isascii() and shown.isdigit() else None
    last = Override.objects.filter(answer=found, removed__isnull=True).select_related("author").last()
    if last is None or last.author_id == request.user.pk or seen is None or last.pk <= seen:
        return ""
    who = last.author.name if last.author and last.author.name else "Somebody"
    return f"{who} graded this answer while you read it: “{last.reason}”. Press again to rule over that."


def decimal_of(text: str) -> Decimal:
    """Points as they were typed. Raises TeachingRefused for what is no number."""
    try:
        value = Decimal(text.strip().replace(",", "."))
    except InvalidOperation as error:
        raise TeachingRefused("Points are a number, such as 1.5.") from error
    if not value.is_finite():
        raise TeachingRefused("Points are a number, such as 1.5.")
    return value


def _ruling(found: Answer, override_id: int) -> Override:
    row = Override.objects.select_related("answer__item").filter(answer=found, pk=override_id).first()
    if row is None:
        raise Http404("No such ruling.")
    return row


@writes
def override_remove(
    request: AccountRequest, class_id: uuid.UUID, answer_id: int, override_id: int
) -> HttpResponse:
    """Take a ruling back."""
    seat = seat_of(request.user, class_id, STAFF, writes=True)
    grading.override_remove(override=_ruling(_answer(seat, answer_id), override_id))
    messages.success(request, "Taken back: the automatic score is there again.")
    return _back(class_id, answer_id, request)


@writes
def override_equal(
    request: AccountRequest, class_id: uuid.UUID, answer_id: int, override_id: int
) -> HttpResponse:
    """Give the same ruling to equal answers."""
    seat = seat_of(request.user, class_id, STAFF, writes=True)
    row = _ruling(_answer(seat, answer_id), override_id)
    n_equal = grading.override_apply_to_equal(override=row, author=request.user)
    messages.success(request, f"{n_equal} equal answer{'s' if n_equal != 1 else ''} got the same score.")
    return _back(class_id, answer_id, request)


@writes
def reviewed(request: AccountRequest, class_id: uuid.UUID, answer_id: int) -> HttpResponse:
    """Leave the score as it is and take the answer off the queue."""
    seat = seat_of(request.user, class_id, STAFF, writes=True)
    found = _answer(seat, answer_id)
    try:
        grading.answer_reviewed(answer=found)
    except TeachingRefused as refusal:
        return _page(request, seat, found, error=str(refusal), status=422)
    return redirect("teaching:review_queue", class_id=class_id, assignment_id=found.item.assignment_id)


@writes
def assess_again(request: AccountRequest, class_id: uuid.UUID, answer_id: int) -> HttpResponse:
    """Queue the automatic assessment again where it failed."""
    seat = seat_of(request.user, class_id, STAFF, writes=True)
    found = _answer(seat, answer_id)
    assess.submission_assess(submission=found.submission)
    messages.success(request, "The assessment is queued again.")
    return _back(class_id, answer_id, request)


@writes
def dispute_resolve(
    request: AccountRequest, class_id: uuid.UUID, answer_id: int, dispute_id: int
) -> HttpResponse:
    """Answer a dispute."""
    seat = seat_of(request.user, class_id, STAFF, writes=True)
    found = _answer(seat, answer_id)
    row = Dispute.objects.filter(answer=found, pk=dispute_id).first()
    if row is None:
        raise Http404("No such dispute.")
    try:
        grading.dispute_resolve(dispute=row, reply=request.POST.get("reply", ""))
    except TeachingRefused as refusal:
        return _page(request, seat, found, error=str(refusal), status=422)
    notices.dispute_answered(dispute=row)
    messages.success(request, "Your reply is with the learner.")
    return _back(class_id, answer_id, request)
