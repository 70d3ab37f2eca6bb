"""Collections shared with classes: who teaches one may let its members read, and sees what they ask."""

from __future__ import annotations

import uuid

from django.db.models import Exists, OuterRef, Q, QuerySet

from interview.accounts.models import User
from interview.documents import sharing
from interview.documents.models import ClassShare, Collection
from interview.runs.models import Run
from interview.teaching.models import EDITORS, Classroom, Membership

ASKED = 50


def readable(user: User) -> Q:
    """Collections of classes the user is in."""
    seats = Membership.objects.filter(owner=user, left__isnull=True)
    return Q(class_shares__classroom__in=seats.values("classroom"))


def audience(collection: Collection) -> list[str]:
    """Names of the classes that read a collection."""
    shares = ClassShare.objects.filter(collection=collection).select_related("classroom")
    return [share.classroom.name for share in shares]


def taught(user: User) -> QuerySet[Classroom]:
    """Classes in which the user may change things."""
    seats = Membership.objects.filter(owner=user, left__isnull=True, role__in=EDITORS)
    return Classroom.objects.filter(pk__in=seats.values("classroom"), archived__isnull=True)


def shared_classes(collection: Collection) -> QuerySet[Classroom]:
    """Classes that read a collection."""
    return Classroom.objects.filter(
        pk__in=ClassShare.objects.filter(collection=collection).values("classroom")
    )


def share(*, collection: Collection, owner: User, class_id: uuid.UUID) -> bool:
    """Let a class the owner teaches read a collection; False where there is no such class for them."""
    classroom = taught(owner).filter(pk=class_id).first()
    if classroom is not None:
        ClassShare.objects.get_or_create(collection=collection, classroom=classroom)
    return classroom is not None


def unshare(*, collection: Collection, class_id: uuid.UUID) -> None:
    """Take a collection back from a class; its members find nothing of it from then on."""
    ClassShare.objects.filter(collection=collection, classroom=class_id).delete()


def asked(collection: Collection) -> QuerySet[Run]:
    """What members of the classes that read a collection asked it since they do, newest first.

    Earlier questions are left out: nobody had told their askers that they would be seen.
    """
    shares = ClassShare.objects.filter(
        collection=collection,
        created__lte=OuterRef("created"),
        classroom__memberships__owner=OuterRef("owner"),
        classroom__memberships__joined__lte=OuterRef("created"),
        classroom__memberships__left__isnull=True,
    )
    runs = Run.objects.filter(Exists(shares), kind="ask", input__collection=str(collection.pk))
    return runs.exclude(owner=collection.owner_id).select_related("owner").order_by("-created")[:ASKED]


sharing.register(sharing.Share("class", readable, audience))
