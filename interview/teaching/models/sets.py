"""Question sets: an ordered choice of questions that can be assigned, shared and published."""

from __future__ import annotations

import uuid
from decimal import Decimal

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

LARGEST_POINTS = Decimal(1000)


class QuestionSet(models.Model):
    """A set of one teacher; others see it by its link or in the gallery."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="question_sets"
    )
    title = models.CharField(max_length=120)
    about = models.TextField(blank=True)
    share_code = models.CharField(max_length=32, unique=True, null=True, blank=True)
    published = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(default=timezone.now)
    updated = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-updated"]
        indexes = [models.Index(fields=["-published"], name="question_set_published")]

    def __str__(self) -> str:
        return self.title


class SetItem(models.Model):
    """A question in a set. Items that follow each other with the same section stand under its heading."""

    question_set = models.ForeignKey(QuestionSet, on_delete=models.CASCADE, related_name="items")
    question = models.ForeignKey("questions.Question", on_delete=models.CASCADE, related_name="+")
    position = models.PositiveIntegerField()
    section = models.CharField(max_length=120, blank=True)
    points = models.DecimalField(max_digits=6, decimal_places=2, default=Decimal(1))
    note = models.TextField(blank=True, help_text="For teachers; learners never see it")

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint("question_set", "question", name="set_item_once_per_set"),
            models.CheckConstraint(
                condition=Q(points__gte=0, points__lte=LARGEST_POINTS), name="set_item_points_in_range"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.question_id} in {self.question_set_id}"
