"""Pages of a class: the list, the class itself, its settings."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from interview.accounts.sessions import AccountRequest
from interview.teaching.forms.classes import ClassDeleteForm, ClassForm, ClassSettingsForm
from interview.teaching.models import EDITORS
from interview.teaching.rights import OWNER_ONLY, Seat, seat_of
from interview.teaching.selectors import classes as selectors
from interview.teaching.selectors import dashboard, overview
from interview.teaching.services import classes as services
from interview.teaching.services.work import attempts_open, attempts_settle
from interview.teaching.views.assignments import assignment_or_404
from interview.teaching.views.pages import fills, reads, writes


@require_safe
def class_list(request: HttpRequest) -> HttpResponseBase:
    """One's classes; a visitor reads what a class is and how to start."""
    if not request.user.is_authenticated:
        return render(request, "teaching/about.html")
    return _own_classes(request)


@reads
def _own_classes(request: AccountRequest) -> HttpResponse:
    context = {
        "seats": selectors.seat_list(request.user),
        "n_unread": dashboard.unread_count(request.user),
    }
    return render(request, "teaching/class_list.html", context)


@fills
def class_create(request: AccountRequest) -> HttpResponse:
    """Make a class."""
    form = ClassForm(request.POST or None, initial={"time_zone": request.user.time_zone})
    if form.is_valid():
        classroom = services.class_create(owner=request.user, **form.cleaned_data)
        messages.success(request, "Your class is ready. Give the link to your learners.")
        return redirect("teaching:people", class_id=classroom.pk)
    return render(request, "teaching/class_create.html", {"form": form}, status=422 if form.errors else 200)


@reads
def class_page(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """A class from one's seat: its assignments, and for a learner where each stands."""
    seat = seat_of(request.user, class_id)
    lines = overview.assignment_lines(seat.classroom, request.user if seat.is_learner else None)
    context = {"seat": seat, "tab": "class", "lines": lines, "now": timezone.now()}
    return render(request, "teaching/class.html", context)


@reads
def assignment(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """An assignment: staff see who is where, a learner starts or goes on."""
    seat = seat_of(request.user, class_id)
    found = assignment_or_404(seat, assignment_id)
    if not seat.is_learner:
        attempts_settle(assignment=found)
        context = {"seat": seat, "tab": "class", **overview.staff_view(found)}
        return render(request, "teaching/assignment.html", context)
    if timezone.now() < found.opens:
        context = {"seat": seat, "tab": "class", "assignment": found}
        return render(request, "teaching/assignment_closed.html", context)
    attempts_settle(assignment=found)
    context = {"seat": seat, "tab": "class", **overview.learner_view(found, request.user)}
    return render(request, "teaching/assignment_learner.html", context)


@fills
def class_edit(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """Name, zone, description, retention; archive, delete."""
    seat = seat_of(request.user, class_id, EDITORS, writes=request.method == "POST")
    classroom = seat.classroom
    form = ClassSettingsForm(
        request.POST or None,
        initial={
            "name": classroom.name,
            "time_zone": classroom.time_zone,
            "about": classroom.about,
            "retention_days": classroom.retention_days,
        },
    )
    if form.is_valid():
        services.class_update(classroom=classroom, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("teaching:class_edit", class_id=class_id)
    context = {"seat": seat, "form": form, "tab": "settings", "n_open": len(attempts_open(classroom))}
    return render(request, "teaching/class_edit.html", context, status=422 if form.errors else 200)


def _kept(n_closed: int) -> str:
    if n_closed == 1:
        return " 1 attempt in progress was handed in as it stood."
    return f" {n_closed} attempts in progress were handed in as they stood." if n_closed else ""


@writes
def class_archive(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """Archive a class, or open it again."""
    seat = seat_of(request.user, class_id, OWNER_ONLY)
    if seat.classroom.archived is None:
        n_closed = services.class_archive(classroom=seat.classroom)
        messages.success(
            request, "The class is archived. Everything in it can still be read." + _kept(n_closed)
        )
    else:
        services.class_reopen(classroom=seat.classroom)
        messages.success(request, "The class is open again.")
    return redirect("teaching:class_edit", class_id=class_id)


@fills
def class_delete(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """Delete a class, after its name was typed."""
    seat: Seat = seat_of(request.user, class_id, OWNER_ONLY)
    form = ClassDeleteForm(request.POST or None, name=seat.classroom.name)
    if form.is_valid():
        services.class_delete(classroom=seat.classroom)
        messages.success(request, "The class is deleted.")
        return redirect("teaching:class_list")
    context = {"seat": seat, "form": form, "tab": "settings"}
    return render(request, "teaching/class_delete.html", context, status=422 if form.errors else 200)
