"""Collections that go with an assignment: learners read and ask them, those who teach the class see what was asked."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from interview.accounts.models import User
from interview.documents import sharing
from interview.documents.models import AssignmentCollection, Collection
from interview.runs.models import Run
from interview.teaching.models import STAFF, Assignment, Classroom, Membership

MOST = 10  # collections of one assignment
ASKED = 300


class TooMany(Exception):
    """The assignment has as many collections as it may have; the message says how many that is."""


@dataclass(frozen=True)
class Asked:
    """One question of a learner and what came of it."""

    name: str
    run: Run

    @property
    def output(self) -> dict[str, Any]:
        return self.run.output or {}


def _open_to(user: User) -> Q:
    """Assignments whose collections a user may read: of classes they teach, or do, once they are open."""
    seats = Membership.objects.filter(owner=user, left__isnull=True)
    taught, done = seats.filter(role__in=STAFF), seats.exclude(role__in=STAFF)
    opened = Q(classroom__in=done.values("classroom"), opens__lte=timezone.now())
    return Q(classroom__in=taught.values("classroom")) | opened


def readable(user: User) -> Q:
    """Collections of assignments the user teaches or does."""
    uses = AssignmentCollection.objects.filter(assignment__in=Assignment.objects.filter(_open_to(user)))
    return Q(pk__in=uses.values("collection"))


def audience(collection: Collection) -> list[str]:
    """Assignments that a collection goes with, with their classes."""
    uses = AssignmentCollection.objects.filter(collection=collection)
    return [
        f"{use.assignment.classroom.name}, with “{use.assignment.title}”"
        for use in uses.select_related("assignment__classroom")
    ]


def collections_of(assignment: Assignment) -> list[Collection]:
    """What goes with an assignment."""
    return list(Collection.objects.filter(assignments__assignment=assignment).order_by("assignments__pk"))


def assignment_for(user: User | None, name: object) -> Assignment | None:
    """An assignment with collections that the user may ask for it, or None."""
    try:
        wanted = uuid.UUID(str(name))
    except ValueError:
        return None
    if user is None:
        return None
    return (
        Assignment.objects.filter(_open_to(user), pk=wanted, document_collections__isnull=False)
        .select_related("classroom")
        .first()
    )


def attach(*, assignment: Assignment, collection: Collection) -> None:
    """Have a collection go with an assignment; doing so again changes nothing. Raises TooMany."""
    uses = AssignmentCollection.objects.filter(assignment=assignment)
    if uses.exclude(collection=collection).count() >= MOST:
        raise TooMany(f"An assignment has at most {MOST} collections.")
    AssignmentCollection.objects.get_or_create(assignment=assignment, collection=collection)


def detach(*, assignment: Assignment, collection_id: uuid.UUID) -> None:
    """Take a collection away from an assignment; learners find nothing of it by this from then on."""
    AssignmentCollection.objects.filter(assignment=assignment, collection=collection_id).delete()


def asked(assignment: Assignment, learner: User | None = None) -> list[Asked]:
    """What learners asked for an assignment, newest first; of one of them where named."""
    seats = Membership.objects.filter(classroom=assignment.classroom_id, left__isnull=True)
    seats = (
        seats.exclude(role__in=STAFF) if learner is None else seats.filter(owner=learner)
    ).select_related("owner")
    names = {seat.owner_id: seat.shown_name for seat in seats}
    return [Asked(names[run.owner_id], run) for run in _runs(assignment, list(names))[:ASKED]]


def _runs(assignment: Assignment, owners: Sequence[int]) -> QuerySet[Run]:
    runs = Run.objects.filter(owner__in=owners, kind="ask", origin__assignment=str(assignment.pk))
    return runs.order_by("-created")


def attachable(user: User, assignment: Assignment) -> QuerySet[Collection]:
    """Own collections that don't go with the assignment yet."""
    return Collection.objects.filter(owner=user).exclude(assignments__assignment=assignment)


def classroom_of(assignment_id: uuid.UUID) -> Classroom | None:
    """The class an assignment belongs to."""
    return Classroom.objects.filter(assignments=assignment_id).first()


sharing.register(sharing.Share("assignment", readable, audience))
