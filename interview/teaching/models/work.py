"""What learners hand in and how it is scored."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from interview.teaching.models.assignments import AssignedQuestion, Assignment


class Submission(models.Model):
    """One attempt at an assignment: open while it is worked on, then handed in once and for all."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="submissions")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="submissions")
    number = models.PositiveSmallIntegerField()
    order = models.JSONField(default=list, help_text="Assigned questions in this learner's order")
    flags = models.JSONField(default=list, help_text="Assigned questions the learner marked to come back to")
    opened = models.JSONField(default=list, help_text="Attachments the learner has opened")
    started = models.DateTimeField(default=timezone.now)
    submitted = models.DateTimeField(null=True, blank=True)
    automatic = models.BooleanField(default=False, help_text="Handed in by the clock, as it stood")
    blank = models.BooleanField(default=False, help_text="Nothing was written")
    receipt = models.CharField(max_length=64, blank=True, help_text="sha256 of what was handed in")
    rubrics = models.JSONField(
        default=dict,
        help_text="Assigned question to the hash of its rubric at that moment: the receipt covers it",
    )
    run = models.OneToOneField("runs.Run", on_delete=models.SET_NULL, null=True, related_name="+")
    earned = models.DecimalField(max_digits=9, decimal_places=4, null=True, blank=True)
    n_pending = models.PositiveSmallIntegerField(default=0, help_text="Answers without a score yet")
    pinned = models.BooleanField(
        default=False, help_text="A teacher graded this attempt, so it is the one that counts"
    )

    # The account's export knows no feedback policy; scores are in the class's own file, which does.
    EXPORT_EXCLUDES: ClassVar[tuple[str, ...]] = ("earned", "n_pending", "pinned")

    class Meta:
        ordering = ["number"]
        indexes = [models.Index(fields=["submitted", "started"], name="submission_open")]
        constraints = [
            models.UniqueConstraint("assignment", "owner", "number", name="submission_number_once"),
            models.UniqueConstraint(
                fields=["assignment", "owner"],
                condition=Q(submitted__isnull=True),
                name="submission_one_open",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.owner_id} at {self.assignment_id}"


class Answer(models.Model):
    """The answer to one question of a submission. `share` is what counts, from 0 to 1, overrides included."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="answers")
    item = models.ForeignKey(AssignedQuestion, on_delete=models.CASCADE, related_name="answers")
    text = models.TextField(blank=True)
    revision = models.PositiveIntegerField(default=0)
    elapsed_seconds = models.PositiveIntegerField(default=0)
    updated = models.DateTimeField(default=timezone.now)
    verdict = models.JSONField(null=True, help_text="The automatic verdict, never edited by hand")
    grader = models.CharField(max_length=80, blank=True)
    graded = models.DateTimeField(null=True, blank=True)
    share = models.FloatField(null=True)
    review = models.CharField(
        max_length=16, blank=True, help_text="Why a teacher should look: not_assessed, uncertain"
    )
    overridden = models.BooleanField(default=False)

    EXPORT_EXCLUDES: ClassVar[tuple[str, ...]] = ("verdict", "share", "review", "overridden", "grader")

    class Meta:
        constraints = [
            models.UniqueConstraint("submission", "item", name="answer_once_per_question"),
            models.CheckConstraint(
                condition=Q(share__isnull=True) | Q(share__gte=0, share__lte=1), name="answer_share_in_0_1"
            ),
        ]

    def __str__(self) -> str:
        return f"answer to {self.item_id} in {self.submission_id}"
