"""What a learner wrote, how it was assessed and when it is due again."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

ANSWER_LIMIT = 20_000  # characters; more is refused visibly, never cut


class Draft(models.Model):
    """An answer being written. `revision` only grows, so an older save never overwrites a newer one."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts")
    question = models.ForeignKey("questions.Question", on_delete=models.CASCADE, related_name="+")
    text = models.TextField(blank=True)
    revision = models.PositiveIntegerField(default=0)
    elapsed_seconds = models.PositiveIntegerField(default=0)
    started = models.DateTimeField(default=timezone.now)
    updated = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint("owner", "question", name="draft_one_per_owner_and_question")]

    def __str__(self) -> str:
        return f"draft of {self.question_id} by {self.owner_id}"


class Attempt(models.Model):
    """A submitted answer, never changed; its verdict is filled in once by the grading run."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="attempts")
    question = models.ForeignKey("questions.Question", on_delete=models.PROTECT, related_name="attempts")
    rubric = models.ForeignKey("questions.RubricVersion", on_delete=models.PROTECT, related_name="+")
    parent = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="probe_attempts"
    )
    probe = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Which probe of the question it answers"
    )
    text = models.TextField()
    idempotency_key = models.CharField(max_length=80)
    elapsed_seconds = models.PositiveIntegerField(default=0)
    run = models.OneToOneField(
        "runs.Run", on_delete=models.SET_NULL, null=True, related_name="attempt_graded"
    )
    verdict = models.JSONField(null=True)
    score = models.FloatField(null=True)
    grader = models.CharField(max_length=80, blank=True)
    created = models.DateTimeField(default=timezone.now)
    graded = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]
        indexes = [models.Index(fields=["owner", "question", "-created"], name="attempt_owner_question")]
        constraints = [
            models.UniqueConstraint(
                "owner", "idempotency_key", name="attempt_idempotency_key_unique_per_owner"
            ),
            models.CheckConstraint(
                condition=models.Q(score__isnull=True) | models.Q(score__gte=0, score__lte=1),
                name="attempt_score_in_0_1",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.id} at {self.question_id}"


class Dispute(models.Model):
    """A learner says that a verdict is wrong; it needs review until a reviewer rules or they take that back."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="dispute")
    note = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"dispute of {self.attempt_id}"


class Ruling(models.Model):
    """What a reviewer decided on a dispute. Never changed or deleted: a later one is added, and the rows are the audit.

    The verdict itself stays as the grader gave it; a ruling stands beside it.
    """

    OUTCOMES = [("upheld", "The verdict stands"), ("changed", "The verdict was wrong")]

    dispute = models.ForeignKey(Dispute, on_delete=models.CASCADE, related_name="rulings")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="rulings_made"
    )
    outcome = models.CharField(max_length=8, choices=OUTCOMES)
    score = models.FloatField(
        null=True, blank=True, help_text="What a reviewer gives instead; only when changed"
    )
    reason = models.TextField()
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(outcome="upheld", score__isnull=True)
                | models.Q(outcome="changed", score__gte=0, score__lte=1),
                name="ruling_score_when_changed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.outcome}: {self.dispute_id}"


class ReviewCard(models.Model):
    """When a question is due again for one learner: an FSRS state, and a day of the learner's own calendar.

    The day moves with them: it begins at midnight wherever they are. `due` is that midnight in UTC as it was foreseen.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="review_cards")
    question = models.ForeignKey("questions.Question", on_delete=models.CASCADE, related_name="+")
    state = models.JSONField()
    due = models.DateTimeField()
    due_on = models.DateField()
    updated = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["due_on", "pk"]
        indexes = [models.Index(fields=["owner", "due_on"], name="review_card_owner_due_on")]
        constraints = [
            models.UniqueConstraint("owner", "question", name="review_card_one_per_owner_and_question")
        ]

    def __str__(self) -> str:
        return f"{self.question_id} due {self.due_on}"


class Review(models.Model):
    """One review of a card: what the verdict proposed, what the learner chose, and the state before it."""

    RATINGS = [(1, "Again"), (2, "Hard"), (3, "Good"), (4, "Easy")]

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reviews")
    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="review")
    proposed = models.PositiveSmallIntegerField(choices=RATINGS)
    rating = models.PositiveSmallIntegerField(choices=RATINGS)
    before = models.JSONField(null=True)
    day = models.DateField(help_text="The learner's calendar day when it happened")
    counts = models.BooleanField(default=True, help_text="Whether it keeps the streak")
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created"]
        indexes = [models.Index(fields=["owner", "day"], name="review_owner_day")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(rating__range=(1, 4), proposed__range=(1, 4)), name="review_rating_1_to_4"
            )
        ]

    def __str__(self) -> str:
        return f"review of {self.attempt_id}: {self.get_rating_display()}"


class InterviewSession(models.Model):
    """A planned interview: questions one after another, each with its minutes, and a report at the end."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="interview_sessions"
    )
    topics = models.JSONField(default=list, help_text="Ids of the topics asked for; empty means all")
    level = models.CharField(max_length=16, blank=True)
    minutes = models.PositiveSmallIntegerField()
    created = models.DateTimeField(default=timezone.now)
    ended = models.DateTimeField(null=True, blank=True)
    share_token = models.CharField(max_length=64, null=True, blank=True, unique=True)

    EXPORT_EXCLUDES: ClassVar[tuple[str, ...]] = ("share_token",)

    class Meta:
        ordering = ["-created"]
        indexes = [models.Index(fields=["owner", "-created"], name="session_owner_created")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(minutes__gte=1, minutes__lte=60), name="session_minutes_1_to_60"
            )
        ]

    def __str__(self) -> str:
        return f"interview session of {self.owner_id}, {self.created:%Y-%m-%d %H:%M}"


class SessionItem(models.Model):
    """One question of a session: when it was opened, the answer, and which follow-ups were passed over."""

    session = models.ForeignKey(InterviewSession, on_delete=models.CASCADE, related_name="items")
    question = models.ForeignKey("questions.Question", on_delete=models.CASCADE, related_name="+")
    position = models.PositiveSmallIntegerField()
    opened = models.DateTimeField(null=True, blank=True)
    seconds = models.PositiveIntegerField(null=True, blank=True, help_text="From opening to the answer")
    skipped = models.BooleanField(default=False)
    passed_probes = models.JSONField(default=list)
    attempt = models.OneToOneField(
        Attempt, on_delete=models.SET_NULL, null=True, blank=True, related_name="session_item"
    )

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint("session", "position", name="session_item_position_unique"),
            models.CheckConstraint(
                condition=models.Q(skipped=False) | models.Q(attempt__isnull=True),
                name="session_item_skipped_or_answered",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.session_id} #{self.position}: {self.question_id}"
