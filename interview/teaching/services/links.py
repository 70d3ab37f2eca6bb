"""Coming in: join links, and what happens when one is followed."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import LEARNER, Classroom, JoinLink, Membership, RosterEntry

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # nothing that looks like something else
CODE_LENGTH = 8
STAFF_LINK_DAYS = 7
LINK_LIMIT = 50


def link_create(*, classroom: Classroom, role: str = LEARNER, days: int | None = None) -> JoinLink:
    """A fresh code. One for staff always expires, after a week unless told otherwise. Raises TeachingRefused."""
    if JoinLink.objects.filter(classroom=classroom, revoked__isnull=True).count() >= LINK_LIMIT:
        raise TeachingRefused(f"There are {LINK_LIMIT} links already. Revoke some that are no longer used.")
    if role != LEARNER and days is None:
        days = STAFF_LINK_DAYS
    expires = timezone.now() + timedelta(days=days) if days is not None else None
    code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
    return JoinLink.objects.create(classroom=classroom, role=role, code=code, expires=expires)


def link_revoke(*, link: JoinLink) -> None:
    """Let nobody in by this code any more; who came by it stays."""
    JoinLink.objects.filter(pk=link.pk, revoked__isnull=True).update(revoked=timezone.now())


@transaction.atomic
def class_join(*, link: JoinLink, user: User) -> tuple[Membership, bool]:
    """Take a seat by a link: the membership and whether it is new or restored. Raises TeachingRefused."""
    known = Membership.objects.filter(classroom=link.classroom, owner=user).first()
    if known is not None and known.left is None:
        return known, False
    if not link.is_open():
        raise TeachingRefused("This link has expired or was revoked. Ask your teacher for a new one.")
    if link.classroom.archived is not None:
        raise TeachingRefused("This class is archived, so nobody can join it now.")
    return _enrol(link.classroom, user, link.role) if known is None else _back(known, link.role)


def _back(known: Membership, role: str) -> tuple[Membership, bool]:
    """Everything is restored but rights: who was on the staff comes back as what the link lets in."""
    if known.removed:
        raise TeachingRefused("A teacher took you out of this class. Ask them to let you back in.")
    known.left = None
    if known.role != LEARNER:
        known.role = role
    known.save(update_fields=["left", "role"])
    return known, True


def _enrol(classroom: Classroom, user: User, role: str) -> tuple[Membership, bool]:
    entry = RosterEntry.objects.filter(classroom=classroom, email=user.email or "").first()
    try:
        with transaction.atomic():
            membership = Membership.objects.create(
                classroom=classroom,
                owner=user,
                role=role,
                name=entry.name if entry else "",
                number=entry.number if entry else "",
            )
    except IntegrityError:  # the same click twice, at the same time
        return Membership.objects.get(classroom=classroom, owner=user), False
    if entry is not None:
        entry.delete()
    return membership, True


@transaction.atomic
def invitation_accept(*, entry: RosterEntry, user: User) -> Membership:
    """Take the seat that a letter offered; whoever holds the letter is the person meant."""
    known = Membership.objects.filter(classroom=entry.classroom, owner=user).first()
    if known is not None:
        if known.left is not None:
            known.left, known.removed, known.role = None, False, LEARNER
            known.save(update_fields=["left", "removed", "role"])
        entry.delete()
        return known
    membership = Membership.objects.create(
        classroom=entry.classroom, owner=user, role=LEARNER, name=entry.name, number=entry.number
    )
    entry.delete()
    return membership
