"""The question bank as the site serves it. Its master copy is text in git under bank/."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

LEVELS = [("warm-up", "warm-up"), ("mid", "mid"), ("senior", "senior"), ("staff", "staff")]


OTHER_TOPIC = "other"  # where own questions about anything else live; never listed with the bank's topics


class Topic(models.Model):
    """A subject with a primer; `id` is its word in every address."""

    id = models.SlugField(primary_key=True, max_length=64)
    title = models.CharField(max_length=120)
    order = models.PositiveIntegerField(default=0)
    summary = models.CharField(max_length=300)
    primer = models.TextField(blank=True)
    retired = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["order", "id"]

    def __str__(self) -> str:
        return self.title


class Question(models.Model):
    """One interview question; `id` is stable for ever, a question that leaves the bank is retired.

    The bank's have no owner and no `uid`. Somebody's own have both; an import with the same `uid` updates.
    """

    id = models.SlugField(primary_key=True, max_length=80)
    topic = models.ForeignKey(Topic, on_delete=models.PROTECT, related_name="questions")
    level = models.CharField(max_length=16, choices=LEVELS)
    title = models.CharField(max_length=200)
    position = models.PositiveIntegerField(
        default=0, help_text="Place in the bank: topic, then level, then id"
    )
    prompt = models.TextField()
    strong = models.TextField()
    weak = models.TextField()
    weak_wrong = models.TextField()
    probes = models.JSONField(default=list)
    calculators = models.JSONField(default=list)
    playground = models.JSONField(default=list)
    sources = models.JSONField(default=list)
    samples = models.JSONField(default=list, help_text="Labelled answers its author tries the rubric with")
    # RESTRICT, not PROTECT: an own question goes together with its versions.
    rubric = models.ForeignKey("RubricVersion", on_delete=models.RESTRICT, related_name="+", null=True)
    retired = models.DateTimeField(null=True, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="own_questions",
    )
    uid = models.CharField(max_length=80, blank=True)
    created = models.DateTimeField(default=timezone.now)
    updated = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(level__in=[level for level, _ in LEVELS]), name="question_level_is_known"
            ),
            models.UniqueConstraint(
                "owner", "uid", condition=models.Q(owner__isnull=False), name="question_uid_unique_per_owner"
            ),
            models.CheckConstraint(
                condition=models.Q(owner__isnull=True) | ~models.Q(uid=""), name="question_own_has_uid"
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_own(self) -> bool:
        """Whether somebody wrote it here; the bank's questions have no `uid`."""
        return bool(self.uid)


class RubricVersion(models.Model):
    """What an answer is held against: written once, named by the hash of its content, never changed."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="rubrics")
    hash = models.CharField(max_length=64)
    body = models.JSONField()
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint("question", "hash", name="rubric_unique_per_question")]

    FROZEN: ClassVar[str] = "A rubric version is never changed. Load the question again to write a new one."

    def __str__(self) -> str:
        return f"{self.question_id}@{self.hash[:12]}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError(self.FROZEN)
        super().save(*args, **kwargs)


class QuestionVersion(models.Model):
    """One saved state of an own question, numbered from 1 and never changed; any of them can be brought back."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    body = models.JSONField()
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint("question", "number", name="question_version_number_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.question_id} version {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A version is written once. Save the question again to write a new one.")
        super().save(*args, **kwargs)
