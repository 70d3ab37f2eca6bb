"""An assignment's questions once it runs: points, broken ones, and grading one again on trial."""

from __future__ import annotations

import uuid
from decimal import Decimal

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from interview.accounts.sessions import AccountRequest
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import (
    EDITORS,
    LARGEST_POINTS,
    Answer,
    AssignedQuestion,
    Assignment,
    Membership,
    Regrade,
    Submission,
)
from interview.teaching.rights import Seat, seat_of
from interview.teaching.services import grading, regrade
from interview.teaching.services.assignments import points_change
from interview.teaching.views.assignments import assignment_or_404
from interview.teaching.views.grading import decimal_of
from interview.teaching.views.pages import reads, writes


def _item(assignment: Assignment, item_id: int) -> AssignedQuestion:
    found = (
        AssignedQuestion.objects.select_related("question__rubric", "rubric", "assignment")
        .filter(assignment=assignment, pk=item_id)
        .first()
    )
    if found is None:
        raise Http404("No such question.")
    return found


@reads
def items(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """The assignment's questions: points, broken ones, regrades."""
    seat = seat_of(request.user, class_id, EDITORS)
    assignment = assignment_or_404(seat, assignment_id)
    found = AssignedQuestion.objects.filter(assignment=assignment).select_related(
        "question__rubric", "rubric"
    )
    context = {
        "seat": seat,
        "tab": "class",
        "assignment": assignment,
        "items": found,
        "regrades": Regrade.objects.filter(item__assignment=assignment).select_related("item", "run")[:20],
        "n_in": Submission.objects.filter(assignment=assignment, submitted__isnull=False).count(),
    }
    return render(request, "teaching/items.html", context)


@writes
def item_update(
    request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID, item_id: int
) -> HttpResponse:
    """What a question is worth, and whether everybody gets its points."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    item = _item(assignment_or_404(seat, assignment_id), item_id)
    try:
        if "everybody" in request.POST:
            on = request.POST["everybody"] == "1"
            grading.everybody_set(item=item, on=on, why=request.POST.get("why", ""))
        else:
            points = decimal_of(request.POST.get("points", ""))
            if not 0 <= points <= LARGEST_POINTS:
                raise TeachingRefused(f"Points go from 0 to {LARGEST_POINTS}.")
            points_change(item=item, points=points.quantize(Decimal("0.01")))
        messages.success(request, "Saved. Every score that holds this question follows.")
    except TeachingRefused as refusal:
        messages.error(request, str(refusal))
    return redirect("teaching:items", class_id=class_id, assignment_id=assignment_id)


@writes
def regrade_try(
    request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID, item_id: int
) -> HttpResponse:
    """Grade a question again on trial."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    item = _item(assignment_or_404(seat, assignment_id), item_id)
    try:
        trial = regrade.regrade_try(item=item, by=request.user)
    except TeachingRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("teaching:items", class_id=class_id, assignment_id=assignment_id)
    return redirect("teaching:regrade", class_id=class_id, regrade_id=trial.pk)


def _trial(seat: Seat, regrade_id: int) -> Regrade:
    found = (
        Regrade.objects.select_related("item__assignment", "rubric__question", "run")
        .filter(item__assignment__classroom=seat.classroom, pk=regrade_id)
        .first()
    )
    if found is None:
        raise Http404("No such trial.")
    return found


@reads
def regrade_page(request: AccountRequest, class_id: uuid.UUID, regrade_id: int) -> HttpResponse:
    """What a trial would change."""
    seat = seat_of(request.user, class_id, EDITORS)
    trial = _trial(seat, regrade_id)
    verdicts = trial.run.output["verdicts"] if trial.run and trial.run.output else {}
    names = {
        member.owner_id: member.shown_name
        for member in Membership.objects.filter(classroom=seat.classroom).select_related("owner")
    }
    answers = Answer.objects.filter(pk__in=[int(pk) for pk in verdicts]).select_related("submission")
    rows = [
        (
            names.get(row.submission.owner_id, ""),
            row,
            (row.verdict or {}).get("score"),
            verdicts[str(row.pk)]["score"],
        )
        for row in answers
    ]
    changed = [row for row in rows if row[2] != row[3]]
    grading.access_note_list(
        classroom=seat.classroom,
        reader=request.user,
        learners=[row[1].submission.owner_id for row in changed],
        what=f"{trial.item.assignment.title}: trial regrade of {trial.item.title}",
    )
    context = {
        "seat": seat,
        "tab": "class",
        "trial": trial,
        "assignment": trial.item.assignment,
        "n_answers": len(rows),
        "n_since": 0 if trial.applied else len(regrade.since_trial(trial)),
        "changed": changed,
    }
    return render(request, "teaching/regrade.html", context)


@writes
def regrade_apply(request: AccountRequest, class_id: uuid.UUID, regrade_id: int) -> HttpResponse:
    """Keep what a trial found."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    trial = _trial(seat, regrade_id)
    try:
        applied = regrade.regrade_apply(trial=trial)
        messages.success(request, f"{applied.n_changed} scores changed. Rulings of teachers are untouched.")
        if applied.n_queued:
            told = (
                f"{applied.n_queued} answers handed in since the trial are being graded by the same rubric."
            )
            messages.info(request, told)
    except TeachingRefused as refusal:
        messages.error(request, str(refusal))
    return redirect("teaching:regrade", class_id=class_id, regrade_id=regrade_id)
