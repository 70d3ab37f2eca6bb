"""A teacher's words on scores, disputes, regrades, who read what, and what people are told."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from interview.teaching.models.assignments import AssignedQuestion
from interview.teaching.models.classes import Classroom
from interview.teaching.models.work import Answer


class Override(models.Model):
    """A teacher's ruling on one key point or on a whole answer. Taken back, never deleted: the row is the audit."""

    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="overrides")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="overrides_made"
    )
    point = models.CharField(max_length=80, blank=True, help_text="Empty: the whole answer")
    state = models.CharField(max_length=16, blank=True)
    share = models.FloatField(null=True, blank=True)
    reason = models.CharField(max_length=500)
    created = models.DateTimeField(default=timezone.now)
    removed = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["created", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["answer", "point"],
                condition=Q(removed__isnull=True),
                name="override_one_active_per_point",
            ),
            models.CheckConstraint(
                condition=Q(share__isnull=True) | Q(share__gte=0, share__lte=1), name="override_share_in_0_1"
            ),
            models.CheckConstraint(
                condition=(Q(point="") & Q(share__isnull=False)) | (~Q(point="") & ~Q(state="")),
                name="override_rules_on_something",
            ),
        ]

    def __str__(self) -> str:
        return f"override of {self.answer_id} ({self.point or 'all'})"


class Dispute(models.Model):
    """A learner's objection to the score of an answer, and the teacher's reply."""

    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="disputes")
    comment = models.TextField()
    reply = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now)
    resolved = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["created", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["answer"], condition=Q(resolved__isnull=True), name="dispute_one_open_per_answer"
            )
        ]

    def __str__(self) -> str:
        return f"dispute about {self.answer_id}"


class Regrade(models.Model):
    """A question graded again on trial: what would change is read first, then applied, or not."""

    item = models.ForeignKey(AssignedQuestion, on_delete=models.CASCADE, related_name="regrades")
    rubric = models.ForeignKey("questions.RubricVersion", on_delete=models.PROTECT, related_name="+")
    run = models.OneToOneField("runs.Run", on_delete=models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(default=timezone.now)
    applied = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"regrade of {self.item_id}"


class AccessEntry(models.Model):
    """Somebody of the staff read a learner's answers. It belongs to the learner."""

    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="access_entries")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_entries"
    )
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="readings"
    )
    what = models.CharField(max_length=200)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created"]
        verbose_name_plural = "access entries"
        indexes = [models.Index(fields=["classroom", "owner", "-created"], name="access_entry_of_learner")]

    def __str__(self) -> str:
        return f"{self.what} of {self.owner_id}"


class Notification(models.Model):
    """Something a person should know; shown on the site, and in the next letter unless they asked for none."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications"
    )
    key = models.CharField(max_length=120, help_text="The same key tells the same thing once")
    text = models.CharField(max_length=300)
    path = models.CharField(max_length=300)
    created = models.DateTimeField(default=timezone.now)
    read = models.DateTimeField(null=True, blank=True)
    mailed = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-id"]
        constraints = [models.UniqueConstraint("owner", "key", name="notification_once")]

    def __str__(self) -> str:
        return self.text


class NoticeChoice(models.Model):
    """Whether somebody wants letters, and the secret address of their calendar."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notice_choice"
    )
    digest = models.BooleanField(default=True)
    feed_key = models.CharField(max_length=64, unique=True)

    def __str__(self) -> str:
        return f"choices of {self.owner_id}"
