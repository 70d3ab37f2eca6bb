"""From a validated launch to a seat: whose account it is, which class the course is, which assignment the link opens."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.lti.claims import Launched
from interview.lti.errors import LaunchRefused
from interview.lti.models import Course, Launch, Platform, PlatformAccount, ResourceLink
from interview.teaching.models import (
    ASSISTANT,
    LEARNER,
    OWNER,
    TEACHER,
    Assignment,
    Classroom,
    Membership,
)
from interview.teaching.services.classes import class_create

RANK = {LEARNER: 0, ASSISTANT: 1, TEACHER: 2, OWNER: 3}
KEPT = timedelta(hours=2)  # as long as somebody may take to choose a class


def launch_get(state: str) -> tuple[Launch, Launched] | None:
    """A launch that was validated and has not arrived yet."""
    found = Launch.objects.select_related("platform").filter(state=state, used__isnull=False).first()
    if found is None or found.claims is None or found.created < timezone.now() - KEPT:
        return None
    return found, Launched(**found.claims)


def account_of(platform: Platform, sub: str) -> PlatformAccount | None:
    """Who a platform's user is here, if they have been here."""
    return PlatformAccount.objects.select_related("owner").filter(platform=platform, sub=sub).first()


@transaction.atomic
def account_make(*, platform: Platform, who: Launched) -> PlatformAccount:
    """An account of its own for a platform's user. The platform's word on an address proves nothing, so none is taken."""
    if known := account_of(platform, who.sub):
        return known
    name = who.name or f"{platform.name} {who.sub[-8:]}"
    user = User.objects.create_user(f"{uuid.uuid4().hex}@lti.invalid", None, name=name[:80])
    return PlatformAccount.objects.create(platform=platform, owner=user, sub=who.sub)


@transaction.atomic
def account_link(*, platform: Platform, who: Launched, user: User) -> PlatformAccount:
    """Let a platform's user be an account that exists; its holder has agreed. Raises LaunchRefused."""
    try:
        with transaction.atomic():
            return PlatformAccount.objects.create(platform=platform, owner=user, sub=who.sub)
    except IntegrityError as error:
        known = account_of(platform, who.sub)
        if known is not None and known.owner_id == user.pk:
            return known
        raise LaunchRefused(
            f"Your account is linked with somebody else at “{platform.name}” already. Choose an account of its own."
        ) from error


def course_of(platform: Platform, who: Launched) -> Course | None:
    """The course of a launch, if it is a class here."""
    found = Course.objects.select_related("classroom").filter(platform=platform, context=who.context)
    return found.first() if who.context else None


def classes_owned(user: User) -> list[Classroom]:
    """Classes that somebody may open for a course: their own, for a course's teachers come in as teachers."""
    seats = Membership.objects.filter(owner=user, role=OWNER, classroom__archived=None)
    return [seat.classroom for seat in seats.select_related("classroom").order_by("classroom__name")]


@transaction.atomic
def course_link(*, platform: Platform, who: Launched, user: User, classroom: Classroom | None) -> Course:
    """Make a course one of the user's classes, or a new one that they own. Raises LaunchRefused."""
    if not who.context:
        raise LaunchRefused("The launch names no course. Open the link from inside a course.")
    if classroom is None:
        title = who.context_title or "Course"
        classroom = class_create(owner=user, name=title[:120], time_zone=user.time_zone)
    course, _ = Course.objects.get_or_create(
        platform=platform, context=who.context, defaults={"classroom": classroom, "title": who.context_title}
    )
    return course


@transaction.atomic
def seat_take(*, course: Course, user: User, role: str) -> Membership:
    """A seat in the course's class with at least the role that the platform gives. Raises LaunchRefused."""
    classroom = course.classroom
    known = Membership.objects.filter(classroom=classroom, owner=user).first()
    if known is None:
        if classroom.archived is not None:
            raise LaunchRefused(f"The class “{classroom.name}” is archived, so nobody can join it now.")
        made, _ = Membership.objects.get_or_create(
            classroom=classroom, owner=user, defaults={"role": role or LEARNER}
        )
        return made
    if known.left is not None and known.removed:
        raise LaunchRefused("A teacher took you out of this class. Ask them to let you back in.")
    known.left = None
    if RANK[role or LEARNER] > RANK[known.role]:
        known.role = role
    known.save(update_fields=["left", "role"])
    return known


@transaction.atomic
def link_take(*, course: Course, who: Launched) -> ResourceLink:
    """The link of a launch with where its scores go now; a custom parameter names its assignment."""
    link, _ = ResourceLink.objects.get_or_create(course=course, resource=who.resource)
    link.title = who.resource_title or link.title
    if who.scopes:
        link.line_item, link.line_items, link.scopes = who.line_item, who.line_items, who.scopes
    if link.assignment_id is None and who.assignment:
        link.assignment = assignment_in(course, who.assignment)
    link.save()
    return link


def assignment_in(course: Course, assignment_id: str) -> Assignment | None:
    """An assignment of the course's class by its id as text."""
    try:
        wanted = uuid.UUID(assignment_id)
    except ValueError:
        return None
    return Assignment.objects.filter(classroom=course.classroom, pk=wanted).first()


def link_assign(*, link: ResourceLink, assignment: Assignment) -> None:
    """Say which assignment a link opens."""
    ResourceLink.objects.filter(pk=link.pk).update(assignment=assignment)


def launch_arrived(*, launch: Launch) -> None:
    """Forget what a launch said: it is where it was going."""
    Launch.objects.filter(pk=launch.pk).update(claims=None)


def launches_prune() -> None:
    """Delete launches that can't be used any more."""
    Launch.objects.filter(created__lt=timezone.now() - KEPT).delete()
