"""Assignments: a set given to a class with dates, its questions pinned as they were."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from interview.teaching.dates import LateStep
from interview.teaching.models.classes import Classroom
from interview.teaching.models.sets import LARGEST_POINTS, QuestionSet

AFTER_DUE, POINTS, FULL = "after_due", "points", "full"
FEEDBACK = [
    (AFTER_DUE, "nothing until it is due"),
    (POINTS, "points at once, the rest once it is due"),
    (FULL, "everything as soon as an attempt is assessed"),
]
FIXED, RANDOM = "fixed", "random"
ORDERS = [(FIXED, "the set’s order"), (RANDOM, "a random order, the same each time for one learner")]
BEST, LATEST = "best", "latest"
COUNTING = [(BEST, "the best attempt"), (LATEST, "the latest attempt")]


def file_place(attachment: Any, name: str) -> str:
    """Uploaded files get a random name: nothing about a class shows in a path."""
    return f"teaching/{uuid.uuid4().hex}"


class Assignment(models.Model):
    """Dates are moments in UTC; they were set, and are shown, in the class's zone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="assignments")
    source = models.ForeignKey(QuestionSet, on_delete=models.SET_NULL, null=True, related_name="+")
    title = models.CharField(max_length=120)
    instructions = models.TextField(blank=True)
    opens = models.DateTimeField()
    due = models.DateTimeField()
    late_until = models.DateTimeField(null=True, blank=True)
    late_steps = models.JSONField(
        default=list, help_text="[{hours, credit in percent}], the first that fits counts"
    )
    late_credit = models.PositiveSmallIntegerField(
        default=100, help_text="Percent for what is later than every step"
    )
    attempts = models.PositiveSmallIntegerField(
        null=True, blank=True, default=1, help_text="Empty: unlimited"
    )
    time_limit_minutes = models.PositiveIntegerField(null=True, blank=True)
    feedback = models.CharField(max_length=12, choices=FEEDBACK, default=AFTER_DUE)
    order = models.CharField(max_length=8, choices=ORDERS, default=FIXED)
    counting = models.CharField(max_length=8, choices=COUNTING, default=BEST)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["due", "created"]
        constraints = [
            models.CheckConstraint(condition=Q(due__gt=F("opens")), name="assignment_opens_before_due"),
            models.CheckConstraint(
                condition=Q(late_until__isnull=True) | Q(late_until__gt=F("due")),
                name="assignment_late_after_due",
            ),
            models.CheckConstraint(
                condition=Q(late_credit__lte=100), name="assignment_late_credit_in_percent"
            ),
            models.CheckConstraint(
                condition=Q(attempts__isnull=True) | Q(attempts__gte=1), name="assignment_some_attempts"
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def steps(self) -> tuple[LateStep, ...]:
        """The late steps as values."""
        return tuple(LateStep(step["hours"], step["credit"]) for step in self.late_steps)


class AssignedQuestion(models.Model):
    """A question of an assignment, pinned: what learners read and are held against doesn't change under them."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="questions")
    question = models.ForeignKey("questions.Question", on_delete=models.PROTECT, related_name="+")
    rubric = models.ForeignKey("questions.RubricVersion", on_delete=models.PROTECT, related_name="+")
    position = models.PositiveIntegerField()
    section = models.CharField(max_length=120, blank=True)
    points = models.DecimalField(max_digits=6, decimal_places=2)
    title = models.CharField(max_length=200)
    prompt = models.TextField()
    strong = models.TextField(blank=True)
    note = models.TextField(blank=True)
    everybody = models.BooleanField(
        default=False, help_text="Full points to everybody: the question was broken"
    )
    everybody_why = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint("assignment", "question", name="assigned_question_once"),
            models.CheckConstraint(
                condition=Q(points__gte=0, points__lte=LARGEST_POINTS),
                name="assigned_question_points_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.question_id} in {self.assignment_id}"


class Attachment(models.Model):
    """Something that goes with an assignment: a page of this site (a calculator) or an uploaded document."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="attachments")
    label = models.CharField(max_length=120)
    path = models.CharField(max_length=2_000, blank=True, help_text="An address of this site")
    file = models.FileField(upload_to=file_place, blank=True)
    file_name = models.CharField(max_length=200, blank=True)
    required = models.BooleanField(default=False, help_text="To be opened before an attempt is handed in")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=~Q(path="") | ~Q(file=""), name="attachment_leads_somewhere")
        ]

    def __str__(self) -> str:
        return self.label


class Extension(models.Model):
    """One learner's own dates for an assignment; never earlier than the assignment's."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="extensions")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="extensions")
    due = models.DateTimeField()
    extra_attempts = models.PositiveSmallIntegerField(default=0)
    extra_time_percent = models.PositiveSmallIntegerField(default=0)
    reason = models.CharField(max_length=300, blank=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint("assignment", "owner", name="extension_once_per_learner")]

    def __str__(self) -> str:
        return f"extension of {self.assignment_id} for {self.owner_id}"
