"""Writes about a class: make, change, archive, delete, hand over."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.services import CannotLeave
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import (
    ASSISTANT,
    LEARNER,
    OWNER,
    TEACHER,
    Attachment,
    Classroom,
    Membership,
)
from interview.teaching.services.assignments import files_forget, zone_change
from interview.teaching.services.links import link_create
from interview.teaching.services.notices import attempts_cut_short
from interview.teaching.services.work import attempts_open, attempts_settle


@transaction.atomic
def class_create(*, owner: User, name: str, time_zone: str, about: str = "") -> Classroom:
    """A class with its owner in it and a link that learners join by."""
    classroom = Classroom.objects.create(name=name, time_zone=time_zone, about=about)
    Membership.objects.create(classroom=classroom, owner=owner, role=OWNER)
    link_create(classroom=classroom, role=LEARNER)
    return classroom


@transaction.atomic
def class_update(*, classroom: Classroom, **fields: Any) -> Classroom:
    """Change name, description, zone or retention. Deadlines keep their hour when the zone changes."""
    if "time_zone" in fields:
        zone_change(classroom=classroom, time_zone=fields["time_zone"])
    for name, value in fields.items():
        setattr(classroom, name, value)
    classroom.save(update_fields=list(fields))
    return classroom


@transaction.atomic
def class_archive(*, classroom: Classroom) -> int:
    """Close a class for changes; everything in it stays readable. Open attempts are handed in as they stand: how many."""
    attempts_settle(classroom=classroom)  # whose time was up anyway
    working = attempts_open(classroom)
    Classroom.objects.filter(pk=classroom.pk, archived__isnull=True).update(archived=timezone.now())
    n_closed = attempts_settle(classroom=classroom)
    attempts_cut_short(submissions=working)
    return n_closed


def class_reopen(*, classroom: Classroom) -> None:
    """Undo the archiving."""
    Classroom.objects.filter(pk=classroom.pk).update(archived=None)


@transaction.atomic
def class_delete(*, classroom: Classroom) -> None:
    """Delete a class with its assignments, answers and scores. Accounts and question sets stay."""
    files_forget(Attachment.objects.filter(assignment__classroom=classroom))
    classroom.delete()


@transaction.atomic
def owner_change(*, classroom: Classroom, to: Membership) -> None:
    """Hand a class to one of its teachers; the former owner stays as a teacher. Raises TeachingRefused."""
    if to.classroom_id != classroom.pk or to.role != TEACHER or to.left is not None:
        raise TeachingRefused("Only a teacher of this class can become its owner. Make them a teacher first.")
    Membership.objects.filter(classroom=classroom, role=OWNER).update(role=TEACHER)
    Membership.objects.filter(pk=to.pk).update(role=OWNER)


@transaction.atomic
def classes_leave(*, user: User) -> None:
    """An account is about to be deleted: its classes pass to a co-teacher, or go when nobody else is in them.

    Raises CannotLeave for a class with other people and no teacher to take it.
    """
    for seat in Membership.objects.select_related("classroom").filter(owner=user, role=OWNER):
        others = Membership.objects.filter(classroom_id=seat.classroom_id).exclude(pk=seat.pk)
        heir = others.filter(role=TEACHER, left__isnull=True).order_by("joined").first()
        if heir is not None:
            owner_change(classroom=seat.classroom, to=heir)
        elif others.exists():
            raise CannotLeave(
                f"Other people are in your class “{seat.classroom.name}”. Make somebody a teacher there to take "
                "it over, or delete the class first; nothing was deleted."
            )
        else:
            class_delete(classroom=seat.classroom)


@transaction.atomic
def role_change(*, membership: Membership, role: str) -> None:
    """Give a member another role; the owner's changes only by handing over. Raises TeachingRefused."""
    if membership.role == OWNER:
        raise TeachingRefused("The owner's role changes by handing the class over to a teacher.")
    if role not in (TEACHER, ASSISTANT, LEARNER):
        raise TeachingRefused("Choose teacher, assistant or learner.")
    Membership.objects.filter(pk=membership.pk).update(role=role)


def member_update(*, membership: Membership, name: str, number: str) -> None:
    """Change how the roster names somebody."""
    Membership.objects.filter(pk=membership.pk).update(name=name, number=number)


def member_remove(*, membership: Membership) -> None:
    """Take somebody out: hidden from lists and averages, nothing deleted. Raises TeachingRefused."""
    if membership.role == OWNER:
        raise TeachingRefused("The owner can't be taken out. Hand the class over first.")
    Membership.objects.filter(pk=membership.pk, left__isnull=True).update(left=timezone.now(), removed=True)


def member_restore(*, membership: Membership) -> None:
    """Let somebody back in with everything they had."""
    Membership.objects.filter(pk=membership.pk).update(left=None, removed=False)


def member_leave(*, membership: Membership) -> None:
    """Leave by oneself; joining again restores everything. Raises TeachingRefused."""
    if membership.role == OWNER:
        raise TeachingRefused("You own this class. Hand it to a teacher before you leave, or archive it.")
    Membership.objects.filter(pk=membership.pk, left__isnull=True).update(left=timezone.now(), removed=False)
