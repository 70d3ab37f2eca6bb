"""Collections that go with an assignment: attach one, take it away, see what learners asked."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from interview.accounts.sessions import AccountRequest
from interview.documents import assignment_sharing as service
from interview.documents import selectors
from interview.teaching.models import EDITORS, STAFF, Assignment
from interview.teaching.rights import Seat, seat_of
from interview.teaching.services.grading import access_note_list
from interview.teaching.views.assignments import assignment_or_404
from interview.teaching.views.pages import reads, writes


def _found(
    request: AccountRequest, assignment_id: uuid.UUID, roles: frozenset[str], *, changes: bool
) -> tuple[Seat, Assignment]:
    """The assignment, where the user has one of these roles in its class; 404 or 403 otherwise."""
    classroom = service.classroom_of(assignment_id)
    if classroom is None:
        raise Http404("No such assignment.")
    seat = seat_of(request.user, classroom.pk, roles, writes=changes)
    return seat, assignment_or_404(seat, assignment_id)


@writes
def attach(request: AccountRequest, assignment_id: uuid.UUID) -> HttpResponse:
    """Have one of one's collections go with an assignment."""
    seat, assignment = _found(request, assignment_id, EDITORS, changes=True)
    try:
        wanted = uuid.UUID(request.POST.get("collection", ""))
    except ValueError as error:
        raise Http404("No such collection.") from error
    collection = selectors.own_collection(wanted, request.user)
    if collection is None:
        raise Http404("No such collection.")
    try:
        service.attach(assignment=assignment, collection=collection)
    except service.TooMany as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"“{collection.name}” goes with the assignment.")
    return redirect("teaching:assignment_edit", class_id=seat.classroom.pk, assignment_id=assignment_id)


@writes
def detach(request: AccountRequest, assignment_id: uuid.UUID, collection_id: uuid.UUID) -> HttpResponse:
    """Take a collection away from an assignment."""
    seat, assignment = _found(request, assignment_id, EDITORS, changes=True)
    service.detach(assignment=assignment, collection_id=collection_id)
    messages.success(request, "The collection no longer goes with the assignment.")
    return redirect("teaching:assignment_edit", class_id=seat.classroom.pk, assignment_id=assignment_id)


@reads
def asked(request: AccountRequest, assignment_id: uuid.UUID) -> HttpResponse:
    """What learners asked the documents of an assignment."""
    seat, assignment = _found(request, assignment_id, STAFF, changes=False)
    rows = service.asked(assignment)
    access_note_list(
        classroom=seat.classroom,
        reader=request.user,
        learners=[row.run.owner_id for row in rows],
        what=f"{assignment.title}: questions to the documents",
    )
    context = {
        "seat": seat,
        "tab": "class",
        "assignment": assignment,
        "collections": service.collections_of(assignment),
        "rows": rows,
    }
    return render(request, "documents/assignment_asked.html", context)
