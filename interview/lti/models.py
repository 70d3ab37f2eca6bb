"""Learning platforms (Moodle, Canvas), who and what came from them, and the scores that go back."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from interview.teaching.models import Assignment, Classroom

MOODLE, CANVAS, OTHER = "moodle", "canvas", "other"
KINDS = [(MOODLE, "Moodle"), (CANVAS, "Canvas"), (OTHER, "another platform with LTI 1.3")]
WAITING, SENT, FAILED = "waiting", "sent", "failed"
STATES = [(WAITING, "waiting"), (SENT, "returned"), (FAILED, "given up")]


class ToolKey(models.Model):
    """This site's signing key: platforms read its public half, the private one is stored encrypted."""

    kid = models.CharField(max_length=64, unique=True)
    private = models.TextField()
    public = models.TextField()
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created", "-id"]

    def __str__(self) -> str:
        return self.kid


class Platform(models.Model):
    """A learning platform as its registrar described it. Its id is part of its addresses here, so nobody takes another's."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="platforms")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=8, choices=KINDS, default=MOODLE)
    issuer = models.CharField(max_length=300)
    client_id = models.CharField(max_length=200, blank=True)
    deployments = models.JSONField(default=list, help_text="Deployment ids that are let in")
    login_url = models.CharField(max_length=500)
    token_url = models.CharField(max_length=500)
    keys_url = models.CharField(max_length=500)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "created"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=[kind for kind, _ in KINDS]), name="platform_kind_is_known"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def ready(self) -> bool:
        """Whether launches can come in."""
        return bool(self.client_id and self.deployments)


class PlatformAccount(models.Model):
    """Who a platform's user is here. Only this platform's registration opens the account, whatever its issuer says."""

    platform = models.ForeignKey(Platform, on_delete=models.PROTECT, related_name="accounts")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="platform_accounts"
    )
    sub = models.CharField(max_length=255)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint("platform", "sub", name="platform_account_once"),
            models.UniqueConstraint("platform", "owner", name="platform_account_one_per_user"),
        ]

    def __str__(self) -> str:
        return f"{self.sub} at {self.platform_id}"


class Launch(models.Model):
    """A sign-in under way: made at its beginning, used once, its claims forgotten when it has arrived."""

    platform = models.ForeignKey(Platform, on_delete=models.CASCADE, related_name="launches")
    state = models.CharField(max_length=80, unique=True)
    nonce = models.CharField(max_length=80, unique=True)
    claims = models.JSONField(null=True)
    created = models.DateTimeField(default=timezone.now, db_index=True)
    used = models.DateTimeField(null=True, blank=True)

    # Other people's names: nothing for the export of whoever registered the platform.
    EXPORT_EXCLUDES: ClassVar[tuple[str, ...]] = ("claims", "state", "nonce")

    def __str__(self) -> str:
        return f"launch {self.pk}"


class Course(models.Model):
    """A course of a platform (a context) and the class it is here."""

    platform = models.ForeignKey(Platform, on_delete=models.CASCADE, related_name="courses")
    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="courses")
    context = models.CharField(max_length=255)
    title = models.CharField(max_length=200, blank=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["title", "id"]
        constraints = [models.UniqueConstraint("platform", "context", name="course_once_per_platform")]

    def __str__(self) -> str:
        return self.title or self.context


class ResourceLink(models.Model):
    """A link in a course, the assignment it opens, and where its scores go."""

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="links")
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, null=True, related_name="lti_links")
    resource = models.CharField(max_length=255)
    title = models.CharField(max_length=200, blank=True)
    line_item = models.CharField(max_length=1_000, blank=True)
    line_items = models.CharField(max_length=1_000, blank=True)
    scopes = models.JSONField(default=list)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["title", "id"]
        constraints = [models.UniqueConstraint("course", "resource", name="resource_link_once_per_course")]

    def __str__(self) -> str:
        return self.title or self.resource

    @property
    def takes_scores(self) -> bool:
        """Whether the platform lets this link return scores."""
        return any(scope.endswith("/scope/score") for scope in self.scopes) and bool(
            self.line_item or self.line_items
        )


class ScoreReturn(models.Model):
    """A learner's score for a link: what the platform has, or is to get."""

    link = models.ForeignKey(ResourceLink, on_delete=models.CASCADE, related_name="returns")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="score_returns"
    )
    points = models.DecimalField(max_digits=9, decimal_places=2)
    of = models.DecimalField(max_digits=9, decimal_places=2)
    submitted = models.DateTimeField()
    state = models.CharField(max_length=8, choices=STATES, default=WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    next_try = models.DateTimeField(default=timezone.now)
    error = models.CharField(max_length=300, blank=True)
    sent = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["state", "next_try"], name="score_return_due")]
        constraints = [
            models.UniqueConstraint("link", "owner", name="score_return_once"),
            models.CheckConstraint(condition=Q(points__gte=0, of__gt=0), name="score_return_points_in_range"),
        ]

    def __str__(self) -> str:
        return f"score of {self.owner_id} for {self.link_id}"
