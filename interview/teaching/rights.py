"""Who may do what in a class: one place, asked by every view, fragment, export and API call.

Somebody without a seat gets a 404 (whether a class exists is private), a seat without the right a 403.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.http import Http404

from interview.accounts.models import User
from interview.teaching.errors import Archived
from interview.teaching.models import EDITORS, LEARNER, OWNER, STAFF, Classroom, Membership

OWNER_ONLY = frozenset({OWNER})
EVERYBODY = STAFF | {LEARNER}


@dataclass(frozen=True)
class Seat:
    """A class as seen from one member's seat."""

    classroom: Classroom
    membership: Membership

    @property
    def user(self) -> User:
        return self.membership.owner

    @property
    def is_owner(self) -> bool:
        return self.membership.role == OWNER

    @property
    def can_edit(self) -> bool:
        """Change the class, its people, assignments and dates."""
        return self.membership.role in EDITORS

    @property
    def can_grade(self) -> bool:
        """Read answers and change scores."""
        return self.membership.role in STAFF

    @property
    def is_learner(self) -> bool:
        return self.membership.role == LEARNER


def seat_of(
    user: User, class_id: uuid.UUID, roles: Collection[str] = EVERYBODY, *, writes: bool = False
) -> Seat:
    """The user's seat in a class. Raises Http404, PermissionDenied, and Archived when it is to be changed."""
    membership = (
        Membership.objects.select_related("classroom", "owner")
        .filter(classroom_id=class_id, owner=user, left__isnull=True)
        .first()
    )
    if membership is None:
        raise Http404("No such class.")
    if membership.role not in roles:
        raise PermissionDenied("Your role in this class doesn't allow that.")
    if writes and membership.classroom.archived is not None:
        raise Archived
    return Seat(membership.classroom, membership)
