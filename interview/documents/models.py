"""Documents, their text and passages, and the collections they lie in."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

UPLOADED, PROCESSING, READY, FAILED, CANCELLED = "uploaded", "processing", "ready", "failed", "cancelled"
STATES = [(state, state) for state in (UPLOADED, PROCESSING, READY, FAILED, CANCELLED)]
RETRYABLE = "retryable"
# Why a document could not be read: what its owner is told first. The detail says more about this one.
REASONS = {
    "no_text": "It holds no text",
    "encrypted": "It has a password",
    "empty": "It is empty",
    "unsupported_type": "This type can't be read",
    "too_large": "It is too large",
    "too_complex": "It is too complex",
    "damaged": "It is damaged",
    "timeout": "Reading it took too long",
    RETRYABLE: "That was our fault",
}


def stored_name(document: Document, filename: str) -> str:
    """Where the original lies in the storage: a name of ours; nothing of the uploaded one."""
    return f"documents/{document.pk}"


class Document(models.Model):
    """An uploaded file. `version` names the pages and passages that count; others are being made or are stale."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="documents")
    name = models.CharField(max_length=255, help_text="As it was given; only ever shown")
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField(help_text="Bytes of the original")
    file = models.FileField(upload_to=stored_name, max_length=100)
    kind = models.CharField(max_length=8, blank=True)
    encoding = models.CharField(max_length=32, blank=True)
    state = models.CharField(max_length=12, choices=STATES, default=UPLOADED)
    reason = models.CharField(max_length=20, blank=True, choices=list(REASONS.items()))
    detail = models.CharField(max_length=300, blank=True)
    stage = models.CharField(max_length=80, blank=True, help_text="How far the processing is")
    run = models.ForeignKey("runs.Run", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    version = models.PositiveIntegerField(default=0, help_text="0: nothing can be searched yet")
    index_version = models.CharField(max_length=40, blank=True)
    n_pages = models.PositiveIntegerField(default=0)
    n_characters = models.PositiveIntegerField(default=0)
    n_passages = models.PositiveIntegerField(default=0)
    created = models.DateTimeField(default=timezone.now)
    ready = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]
        constraints = [
            models.UniqueConstraint("owner", "sha256", name="document_one_per_owner_and_content"),
            models.CheckConstraint(
                condition=models.Q(state__in=[s for s, _ in STATES]), name="document_state_is_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(state=FAILED) | ~models.Q(reason=""), name="document_failure_has_a_reason"
            ),
            models.CheckConstraint(
                condition=~models.Q(state=READY) | models.Q(version__gt=0), name="document_ready_has_an_index"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def busy(self) -> bool:
        return self.state in (UPLOADED, PROCESSING)

    @property
    def reason_words(self) -> str:
        """Why it failed, for people."""
        parts = [part.rstrip(".") + "." for part in (REASONS.get(self.reason, ""), self.detail) if part]
        return " ".join(parts)


class Collection(models.Model):
    """Documents that are asked together. A room above may let others read one (sharing.py)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="collections")
    name = models.CharField(max_length=120)
    documents = models.ManyToManyField(Document, related_name="collections", blank=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "created"]

    def __str__(self) -> str:
        return self.name


class Page(models.Model):
    """The text of a page, or of a part where the file has no pages; `start` is its place in the whole text."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="pages")
    version = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    label = models.CharField(max_length=40)
    start = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint("document", "version", "number", name="page_one_per_number"),
        ]

    def __str__(self) -> str:
        return f"{self.label} of {self.document_id}"


class Passage(models.Model):
    """A piece of the text that is searched and cited: the characters from `start` to `end` of the whole."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="passages")
    version = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    page = models.PositiveIntegerField(help_text="Number of the page it starts on")
    heading = models.CharField(max_length=300, blank=True)
    text = models.TextField()
    vector = models.BinaryField(help_text="384 float16, unit length")

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint("document", "version", "number", name="passage_one_per_number"),
            models.CheckConstraint(
                condition=models.Q(end__gt=models.F("start")), name="passage_is_not_empty"
            ),
        ]

    def __str__(self) -> str:
        return f"passage {self.number} of {self.document_id}"


class Evaluation(models.Model):
    """A question set put to the model with and without passages; `results` is written once, when its run ends."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="evaluations")
    name = models.CharField(max_length=120)
    style = models.CharField(max_length=8)
    questions = models.JSONField(help_text="question, answers, context of each")
    selection = models.JSONField(
        default=dict, help_text="The documents asked, where the set brings no passages"
    )
    run = models.ForeignKey("runs.Run", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    results = models.JSONField(null=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return self.name


class ClassShare(models.Model):
    """A collection that the members of a class may read."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="class_shares")
    classroom = models.ForeignKey("teaching.Classroom", on_delete=models.CASCADE, related_name="+")
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint("collection", "classroom", name="collection_shared_once_with_a_class"),
        ]

    def __str__(self) -> str:
        return f"{self.collection_id} for {self.classroom_id}"


class AssignmentCollection(models.Model):
    """A collection that goes with an assignment: who does the assignment may read and ask it."""

    assignment = models.ForeignKey(
        "teaching.Assignment", on_delete=models.CASCADE, related_name="document_collections"
    )
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="assignments")
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint("assignment", "collection", name="collection_once_with_an_assignment"),
        ]

    def __str__(self) -> str:
        return f"{self.collection_id} with {self.assignment_id}"
