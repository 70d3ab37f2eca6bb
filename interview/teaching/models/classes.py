"""Classes, who is in them and how people come in."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from interview.accounts.models import validate_time_zone

OWNER, TEACHER, ASSISTANT, LEARNER = "owner", "teacher", "assistant", "learner"
ROLES = [(OWNER, "owner"), (TEACHER, "teacher"), (ASSISTANT, "assistant"), (LEARNER, "learner")]
EDITORS = frozenset({OWNER, TEACHER})
STAFF = frozenset({OWNER, TEACHER, ASSISTANT})


class Classroom(models.Model):
    """A class; its owner is a membership, so that it can change hands."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    about = models.TextField(blank=True)
    time_zone = models.CharField(max_length=64, validators=[validate_time_zone])
    retention_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Days after archiving when answers are deleted; empty keeps them"
    )
    created = models.DateTimeField(default=timezone.now)
    archived = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "created"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """Somebody's seat in a class. Leaving keeps the row, so that coming back restores everything."""

    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="memberships")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=ROLES, default=LEARNER)
    name = models.CharField(
        max_length=80, blank=True, help_text="As the roster has it; empty: the account's name"
    )
    number = models.CharField(max_length=40, blank=True, help_text="The school's own number for this person")
    joined = models.DateTimeField(default=timezone.now)
    left = models.DateTimeField(null=True, blank=True)
    removed = models.BooleanField(
        default=False, help_text="A teacher took them out; a link doesn't let them back"
    )

    class Meta:
        ordering = ["joined", "id"]
        indexes = [models.Index(fields=["classroom", "role", "left"], name="membership_class_role")]
        constraints = [
            models.UniqueConstraint("classroom", "owner", name="membership_once_per_class"),
            models.UniqueConstraint(
                fields=["classroom"], condition=Q(role=OWNER), name="membership_one_owner_per_class"
            ),
            models.CheckConstraint(
                condition=Q(role__in=[role for role, _ in ROLES]), name="membership_role_is_known"
            ),
            models.CheckConstraint(
                condition=~Q(role=OWNER) | Q(left__isnull=True), name="membership_owner_never_left"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.owner_id} in {self.classroom_id}"

    @property
    def shown_name(self) -> str:
        """The roster's name, else the account's, else its address."""
        return self.name or self.owner.name or self.owner.email or f"learner {self.pk}"

    @property
    def is_staff(self) -> bool:
        return self.role in STAFF


class JoinLink(models.Model):
    """A code that lets many people in with one role, until it expires or is revoked."""

    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="join_links")
    code = models.CharField(max_length=16, unique=True)
    role = models.CharField(max_length=12, choices=ROLES[1:], default=LEARNER)
    created = models.DateTimeField(default=timezone.now)
    expires = models.DateTimeField(null=True, blank=True)
    revoked = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]
        constraints = [
            models.CheckConstraint(condition=~Q(role=OWNER), name="join_link_makes_no_owner"),
        ]

    def __str__(self) -> str:
        return self.code

    def is_open(self, now: datetime | None = None) -> bool:
        """Whether it still lets people in."""
        at = now or timezone.now()
        return self.revoked is None and (self.expires is None or at < self.expires)


class RosterEntry(models.Model):
    """Somebody the roster names who has no account yet; gone once they are in."""

    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="roster_entries")
    email = models.EmailField()
    name = models.CharField(max_length=80, blank=True)
    number = models.CharField(max_length=40, blank=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["email"]
        verbose_name_plural = "roster entries"
        constraints = [models.UniqueConstraint("classroom", "email", name="roster_entry_once_per_class")]

    def __str__(self) -> str:
        return self.email
