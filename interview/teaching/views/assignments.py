"""Assignments as their teachers handle them: make, change, attach, extend, preview."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone

from interview.accounts.sessions import AccountRequest
from interview.teaching.dates import days_later, wall_clock
from interview.teaching.errors import TeachingRefused
from interview.teaching.forms.assignments import (
    SHOWN,
    AssignForm,
    AssignmentEditForm,
    AttachmentForm,
    ExtensionForm,
    as_initial,
)
from interview.teaching.models import EDITORS, STAFF, Assignment, Attachment, Extension, Membership
from interview.teaching.rights import Seat, seat_of
from interview.teaching.selectors import assignments as selectors
from interview.teaching.selectors import classes, sets
from interview.teaching.services import assignments as services
from interview.teaching.services.work import attempts_settle
from interview.teaching.views.pages import fills, reads, writes

WEEK = 7


def assignment_or_404(seat: Seat, assignment_id: uuid.UUID) -> Assignment:
    """An assignment of this seat's class."""
    found = selectors.assignment_get(seat.classroom, assignment_id)
    if found is None:
        raise Http404("No such assignment.")
    return found


def _defaults(zone: str, asked: Any) -> dict[str, Any]:
    now = wall_clock(timezone.now(), zone)
    due = (now + timedelta(days=WEEK)).replace(hour=23, minute=59)
    return {
        "opens": now.strftime(SHOWN),
        "due": due.strftime(SHOWN),
        "attempts": 1,
        "late_credit": 100,
        "source": asked,
    }


@fills
def assignment_create(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """Give a set to the class."""
    seat = seat_of(request.user, class_id, EDITORS, writes=request.method == "POST")
    zone = seat.classroom.time_zone
    own_sets = sets.set_list(request.user)
    initial = _defaults(zone, request.GET.get("set", "") or own_sets.first())
    form = AssignForm(request.POST or None, zone=zone, sets=own_sets, initial=initial)
    if form.is_valid():
        try:
            made = services.assignment_create(classroom=seat.classroom, **form.cleaned_data)
        except TeachingRefused as refusal:
            form.add_error("source", str(refusal))
        else:
            messages.success(request, "The assignment is there. Learners see it once it opens.")
            return redirect("teaching:assignment", class_id=class_id, assignment_id=made.pk)
    context = {"seat": seat, "form": form, "tab": "class", "has_sets": own_sets.exists()}
    return render(request, "teaching/assignment_create.html", context, status=422 if form.errors else 200)


@fills
def assignment_edit(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """Dates and rules."""
    seat = seat_of(request.user, class_id, EDITORS, writes=request.method == "POST")
    assignment = assignment_or_404(seat, assignment_id)
    zone = seat.classroom.time_zone
    attempts_settle(assignment=assignment)
    form = AssignmentEditForm(request.POST or None, zone=zone, initial=as_initial(assignment, zone))
    n_ended = selectors.ended_by(assignment, form.cleaned_data) if form.is_valid() else 0
    if n_ended and request.POST.get("ends") != str(n_ended):
        one = n_ended == 1
        told = "1 attempt is in progress and is" if one else f"{n_ended} attempts are in progress and are"
        as_is = "it stands" if one else "they stand"
        form.add_error(
            None, f"{told} handed in at once, as {as_is}, by what you changed. Save again if that is meant."
        )
    if form.is_valid():
        services.assignment_update(assignment=assignment, **form.cleaned_data)
        attempts_settle(assignment=assignment)
        messages.success(request, "Saved. Lateness was recomputed from the new dates.")
        return redirect("teaching:assignment", class_id=class_id, assignment_id=assignment_id)
    return _edit_page(request, seat, assignment, form=form, n_ended=n_ended)


def _edit_page(
    request: AccountRequest,
    seat: Seat,
    assignment: Assignment,
    *,
    form: AssignmentEditForm | None = None,
    extension_form: ExtensionForm | None = None,
    attachment_form: AttachmentForm | None = None,
    n_ended: int = 0,
) -> HttpResponse:
    zone = seat.classroom.time_zone
    learners = classes.learner_list(seat.classroom)
    names = {
        seat.owner_id: f"{seat.shown_name}, not in the class" for seat in classes.gone_list(seat.classroom)
    }
    names |= {learner.owner_id: learner.shown_name for learner in learners}
    extensions = list(Extension.objects.filter(assignment=assignment).order_by("due"))
    context = {
        "seat": seat,
        "assignment": assignment,
        "tab": "class",
        "n_ended": n_ended,
        "form": form or AssignmentEditForm(zone=zone, initial=as_initial(assignment, zone)),
        "extension_form": extension_form or ExtensionForm(learners=learners, zone=zone),
        "attachment_form": attachment_form or AttachmentForm(),
        "extensions": [(row, names.get(row.owner_id, "one of the staff")) for row in extensions],
        "attachments": assignment.attachments.all(),
    }
    bad = any(part is not None and part.errors for part in (form, extension_form, attachment_form))
    return render(request, "teaching/assignment_edit.html", context, status=422 if bad else 200)


@writes
def assignment_delete(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """Delete an assignment with everything handed in."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    assignment = assignment_or_404(seat, assignment_id)
    if request.POST.get("confirm", "").strip() != assignment.title:
        messages.error(request, f"Type “{assignment.title}” to confirm. Nothing was deleted.")
        return redirect("teaching:assignment_edit", class_id=class_id, assignment_id=assignment_id)
    services.assignment_delete(assignment=assignment)
    messages.success(request, "The assignment is deleted.")
    return redirect("teaching:class_page", class_id=class_id)


@writes
def extension_give(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """Give a learner their own date."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    assignment = assignment_or_404(seat, assignment_id)
    zone = seat.classroom.time_zone
    form = ExtensionForm(request.POST, learners=classes.learner_list(seat.classroom), zone=zone)
    if form.is_valid():
        data = form.cleaned_data
        seat_there = Membership.objects.select_related("owner").get(
            classroom=seat.classroom, owner_id=data["learner"]
        )
        days = data["days"]
        due = data["until"] or (None if days is None else days_later(assignment.due, days, zone))
        try:
            services.extension_give(
                assignment=assignment,
                learner=seat_there.owner,
                due=due,
                extra_attempts=data["extra_attempts"],
                extra_time_percent=data["extra_time_percent"],
                reason=data["reason"],
            )
        except TeachingRefused as refusal:
            form.add_error("until", str(refusal))
        else:
            messages.success(request, f"{seat_there.shown_name} has the extension.")
            return redirect("teaching:assignment_edit", class_id=class_id, assignment_id=assignment_id)
    return _edit_page(request, seat, assignment, extension_form=form)


@writes
def extension_take_back(
    request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID, extension_id: int
) -> HttpResponse:
    """Take an extension back."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    assignment = assignment_or_404(seat, assignment_id)
    row = Extension.objects.filter(assignment=assignment, pk=extension_id).first()
    if row is None:
        raise Http404("No such extension.")
    services.extension_take_back(extension=row)
    messages.success(request, "The extension is taken back.")
    return redirect("teaching:assignment_edit", class_id=class_id, assignment_id=assignment_id)


@writes
def attachment_add(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """Attach a calculator or a document."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    assignment = assignment_or_404(seat, assignment_id)
    form = AttachmentForm(request.POST, request.FILES)
    if not form.is_valid():
        return _edit_page(request, seat, assignment, attachment_form=form)
    data = form.cleaned_data
    services.attachment_add(
        assignment=assignment,
        label=data["label"],
        path=data["path"],
        file=data["file"],
        required=data["required"],
    )
    messages.success(request, "Attached.")
    return redirect("teaching:assignment_edit", class_id=class_id, assignment_id=assignment_id)


def _attachment(assignment: Assignment, attachment_id: int) -> Attachment:
    found = Attachment.objects.filter(assignment=assignment, pk=attachment_id).first()
    if found is None:
        raise Http404("No such attachment.")
    return found


@writes
def attachment_remove(
    request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID, attachment_id: int
) -> HttpResponse:
    """Take an attachment away."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    assignment = assignment_or_404(seat, assignment_id)
    services.attachment_remove(attachment=_attachment(assignment, attachment_id))
    messages.success(request, "The attachment is gone.")
    return redirect("teaching:assignment_edit", class_id=class_id, assignment_id=assignment_id)


@reads
def attachment_open(
    request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID, attachment_id: int
) -> HttpResponseBase:
    """An attachment as staff see it."""
    assignment = assignment_or_404(seat_of(request.user, class_id, STAFF), assignment_id)
    return attachment_response(_attachment(assignment, attachment_id))


def attachment_response(attachment: Attachment) -> HttpResponseBase:
    """A page of this site, or the document as a download (never shown inline: it may hold anything)."""
    if attachment.path:
        return redirect(attachment.path)
    file = attachment.file.open("rb")
    return FileResponse(file, as_attachment=True, filename=attachment.file_name)


@reads
def preview(
    request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID, number: int
) -> HttpResponse:
    """A question of the assignment as a learner sees it; nothing is stored."""
    seat = seat_of(request.user, class_id, STAFF)
    assignment = assignment_or_404(seat, assignment_id)
    items = selectors.item_list(assignment)
    if not 1 <= number <= len(items):
        raise Http404("No such question.")
    context = {
        "seat": seat,
        "assignment": assignment,
        "item": items[number - 1],
        "number": number,
        "steps": [(index, item, "") for index, item in enumerate(items, start=1)],
        "n_items": len(items),
        "attachments": [(row, False) for row in assignment.attachments.all()],
        "preview": True,
    }
    return render(request, "teaching/work.html", context)
