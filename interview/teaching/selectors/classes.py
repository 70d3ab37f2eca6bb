"""Reads about classes and the people in them."""

from __future__ import annotations

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Lower

from interview.accounts.models import User
from interview.teaching.models import (
    EDITORS,
    LEARNER,
    OWNER,
    STAFF,
    Classroom,
    JoinLink,
    Membership,
    RosterEntry,
)

ACTIVE = Q(left__isnull=True)


def seat_list(user: User) -> QuerySet[Membership]:
    """One's seats with the class and its number of learners; archived classes last."""
    learners = Count(
        "classroom__memberships",
        filter=Q(classroom__memberships__left__isnull=True, classroom__memberships__role=LEARNER),
    )
    return (
        Membership.objects.filter(ACTIVE, owner=user)
        .select_related("classroom")
        .annotate(n_learners=learners)
        .order_by(F("classroom__archived").asc(nulls_first=True), Lower("classroom__name"))
    )


def taught_list(user: User) -> list[Classroom]:
    """Classes that somebody may assign something to."""
    seats = Membership.objects.filter(ACTIVE, owner=user, role__in=EDITORS, classroom__archived=None)
    return [seat.classroom for seat in seats.select_related("classroom").order_by(Lower("classroom__name"))]


def member_list(classroom: Classroom) -> QuerySet[Membership]:
    """Everybody who is in, staff first, then by name."""
    return (
        Membership.objects.filter(ACTIVE, classroom=classroom)
        .select_related("owner")
        .order_by("joined", "id")
    )


def learner_list(classroom: Classroom) -> list[Membership]:
    """The learners who are in, by shown name."""
    rows = member_list(classroom).filter(role=LEARNER)
    return sorted(rows, key=lambda seat: (seat.shown_name.casefold(), seat.pk))


def staff_list(classroom: Classroom) -> list[Membership]:
    """Owner, teachers and assistants."""
    order = {OWNER: 0, "teacher": 1, "assistant": 2}
    rows = member_list(classroom).filter(role__in=STAFF)
    return sorted(rows, key=lambda seat: (order[seat.role], seat.shown_name.casefold()))


def gone_list(classroom: Classroom) -> QuerySet[Membership]:
    """Who left or was taken out; their work is kept."""
    return Membership.objects.filter(classroom=classroom, left__isnull=False).select_related("owner")


def entry_list(classroom: Classroom) -> QuerySet[RosterEntry]:
    """Invited, not in yet."""
    return RosterEntry.objects.filter(classroom=classroom)


def link_list(classroom: Classroom) -> list[JoinLink]:
    """Links that still let people in."""
    links = JoinLink.objects.filter(classroom=classroom, revoked__isnull=True)
    return [link for link in links if link.is_open()]


def link_by_code(raw: str) -> JoinLink | None:
    """A link by its code, however it was typed."""
    code = "".join(sign for sign in raw.upper() if sign.isalnum())
    return JoinLink.objects.select_related("classroom").filter(code=code).first() if code else None
