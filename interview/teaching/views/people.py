"""Pages about who is in a class: roster, links, roles, leaving."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from interview.accounts.sessions import AccountRequest
from interview.teaching.errors import TeachingRefused
from interview.teaching.forms.classes import LinkForm, MemberForm, RosterForm
from interview.teaching.models import EDITORS, LEARNER, OWNER, STAFF, JoinLink, Membership, RosterEntry
from interview.teaching.rights import EVERYBODY, OWNER_ONLY, Seat, seat_of
from interview.teaching.selectors import classes as selectors
from interview.teaching.services import classes as services
from interview.teaching.services import links, roster
from interview.teaching.services.roster import RosterLine
from interview.teaching.views.pages import fills, reads, writes


def _page(
    request: AccountRequest,
    seat: Seat,
    *,
    form: RosterForm | None = None,
    link_form: LinkForm | None = None,
    report: list[RosterLine] | None = None,
) -> HttpResponse:
    classroom = seat.classroom
    context = {
        "seat": seat,
        "tab": "people",
        "staff": selectors.staff_list(classroom),
        "learners": selectors.learner_list(classroom),
        "entries": selectors.entry_list(classroom),
        "gone": selectors.gone_list(classroom),
        "links": selectors.link_list(classroom) if seat.can_edit else [],
        "form": form or RosterForm(),
        "link_form": link_form or LinkForm(initial={"role": LEARNER}),
        "report": report,
    }
    bad = bool((form and form.errors) or (link_form and link_form.errors))
    return render(request, "teaching/people.html", context, status=422 if bad else 200)


@reads
def people(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """Who is in, how others come in, who left."""
    return _page(request, seat_of(request.user, class_id, STAFF))


@writes
def roster_import(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """Bring a list of people in and report on every line."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    form = RosterForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            report = roster.roster_import(classroom=seat.classroom, text=form.cleaned_data["people"])
        except TeachingRefused as refusal:
            form.add_error("people", str(refusal))
        else:
            return _page(request, seat, report=report)
    return _page(request, seat, form=form)


def _member(seat: Seat, member_id: int) -> Membership:
    found = Membership.objects.select_related("owner").filter(classroom=seat.classroom, pk=member_id).first()
    if found is None:
        raise Http404("No such member.")
    return found


def _may_change(seat: Seat, member: Membership) -> None:
    """Only the owner changes staff."""
    if member.role != LEARNER and not seat.is_owner:
        raise PermissionDenied("Only the owner changes the roles of teachers and assistants.")


@fills
def member_edit(request: AccountRequest, class_id: uuid.UUID, member_id: int) -> HttpResponse:
    """A member's name on the roster and role."""
    seat = seat_of(request.user, class_id, EDITORS, writes=request.method == "POST")
    member = _member(seat, member_id)
    _may_change(seat, member)
    form = MemberForm(
        request.POST or None, initial={"name": member.name, "number": member.number, "role": member.role}
    )
    if not seat.is_owner or member.role == OWNER:
        del form.fields["role"]
    if form.is_valid():
        role = form.cleaned_data.pop("role", member.role)
        services.member_update(membership=member, **form.cleaned_data)
        if role != member.role:
            services.role_change(membership=member, role=role)
        messages.success(request, "Saved.")
        return redirect("teaching:people", class_id=class_id)
    context = {"seat": seat, "member": member, "form": form, "tab": "people"}
    return render(request, "teaching/member_edit.html", context, status=422 if form.errors else 200)


@writes
def member_remove(request: AccountRequest, class_id: uuid.UUID, member_id: int) -> HttpResponse:
    """Take somebody out of the class; nothing of theirs is deleted."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    member = _member(seat, member_id)
    _may_change(seat, member)
    services.member_remove(membership=member)
    messages.success(request, f"{member.shown_name} is out of the class. Their work is kept.")
    return redirect("teaching:people", class_id=class_id)


@writes
def member_restore(request: AccountRequest, class_id: uuid.UUID, member_id: int) -> HttpResponse:
    """Let somebody back in."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    member = _member(seat, member_id)
    _may_change(seat, member)
    services.member_restore(membership=member)
    messages.success(request, f"{member.shown_name} is back, with everything they had.")
    return redirect("teaching:people", class_id=class_id)


@writes
def owner_change(request: AccountRequest, class_id: uuid.UUID, member_id: int) -> HttpResponse:
    """Hand the class over to one of its teachers."""
    seat = seat_of(request.user, class_id, OWNER_ONLY)
    member = _member(seat, member_id)
    services.owner_change(classroom=seat.classroom, to=member)
    messages.success(request, f"{member.shown_name} owns the class now. You are one of its teachers.")
    return redirect("teaching:people", class_id=class_id)


def _entry(seat: Seat, entry_id: int) -> RosterEntry:
    found = (
        RosterEntry.objects.select_related("classroom").filter(classroom=seat.classroom, pk=entry_id).first()
    )
    if found is None:
        raise Http404("No such invitation.")
    return found


@writes
def invitation_send(request: AccountRequest, class_id: uuid.UUID, entry_id: int) -> HttpResponse:
    """Send an invitation again."""
    entry = _entry(seat_of(request.user, class_id, EDITORS, writes=True), entry_id)
    roster.invitation_send(entry=entry)
    messages.success(request, f"The invitation to {entry.email} is on its way.")
    return redirect("teaching:people", class_id=class_id)


@writes
def invitation_remove(request: AccountRequest, class_id: uuid.UUID, entry_id: int) -> HttpResponse:
    """Take an invitation back."""
    entry = _entry(seat_of(request.user, class_id, EDITORS, writes=True), entry_id)
    roster.invitation_remove(entry=entry)
    messages.success(request, "The invitation is taken back.")
    return redirect("teaching:people", class_id=class_id)


@writes
def link_create(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """Make another join link. Only the owner makes links for staff."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    form = LinkForm(request.POST)
    if not form.is_valid():
        return _page(request, seat, link_form=form)
    if form.cleaned_data["role"] != LEARNER and not seat.is_owner:
        raise PermissionDenied("Only the owner lets teachers and assistants in.")
    links.link_create(classroom=seat.classroom, **form.cleaned_data)
    messages.success(request, "The link is ready.")
    return redirect("teaching:people", class_id=class_id)


@writes
def link_revoke(request: AccountRequest, class_id: uuid.UUID, link_id: int) -> HttpResponse:
    """Revoke a join link."""
    seat = seat_of(request.user, class_id, EDITORS, writes=True)
    link = JoinLink.objects.filter(classroom=seat.classroom, pk=link_id).first()
    if link is None:
        raise Http404("No such link.")
    links.link_revoke(link=link)
    messages.success(request, "The link lets nobody in any more.")
    return redirect("teaching:people", class_id=class_id)


@writes
def class_leave(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """Leave a class; joining again restores everything."""
    seat = seat_of(request.user, class_id, EVERYBODY)
    services.member_leave(membership=seat.membership)
    messages.success(request, f"You left {seat.classroom.name}. If you join again, your work is there.")
    return redirect("teaching:class_list")
