"""The queue. A Run row is the job; the broker's message only wakes a worker (docs/runs.md)."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED = "queued", "running", "succeeded", "failed", "cancelled"
STATES = [(state, state) for state in (QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED)]
ENDED = (SUCCEEDED, FAILED, CANCELLED)
ATTEMPT_CAP = 2


class Run(models.Model):
    """One piece of work for the model. Every change of `state` is a guarded update in services.py."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs")
    kind = models.CharField(max_length=32)
    state = models.CharField(max_length=16, choices=STATES, default=QUEUED)
    reason = models.CharField(max_length=300, blank=True, help_text="Why it failed, as the user sees it")
    input = models.JSONField()
    output = models.JSONField(null=True)
    attempt = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    history = models.JSONField(default=list, help_text="Earlier attempts that were lost or put back")
    idempotency_key = models.CharField(max_length=80, null=True, blank=True)
    input_hash = models.CharField(max_length=64)
    created = models.DateTimeField(default=timezone.now)
    woken = models.DateTimeField(
        null=True, blank=True, help_text="When a worker was last sent a message about it"
    )
    started = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    origin = models.JSONField(default=dict, help_text="Which run this one replays or was forked from")
    erased = models.DateTimeField(null=True, blank=True, help_text="When its texts were erased")

    class Meta:
        ordering = ["-created"]
        indexes = [
            models.Index(fields=["state", "created"], name="run_state_created"),
            models.Index(fields=["owner", "-created"], name="run_owner_created"),
            models.Index(fields=["owner", "started"], name="run_owner_started"),
        ]
        constraints = [
            models.UniqueConstraint("owner", "idempotency_key", name="run_idempotency_key_unique_per_owner"),
            models.CheckConstraint(
                condition=models.Q(state__in=[s for s, _ in STATES]), name="run_state_is_known"
            ),
            models.CheckConstraint(condition=models.Q(attempt__lte=ATTEMPT_CAP), name="run_attempt_capped"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id} ({self.state})"

    @property
    def asked(self) -> list[tuple[str, str]]:
        """(role, text) of what was asked in words: the messages or the raw prompt, and what a fork kept of an answer."""
        messages = [(one["role"], one["content"]) for one in self.input.get("messages") or []]
        raw = [("prompt", self.input["prompt"])] if self.input.get("prompt") else []
        kept = (self.input.get("fork") or {}).get("text")
        return [*messages, *raw, *([("kept of an earlier answer", kept)] if kept else [])]

    @property
    def prompt_words(self) -> str:
        """The first words of what was asked, for lists; its settings where nothing was asked in words."""
        asked = (self.input.get("messages") or [{"content": self.input.get("prompt")}])[-1]["content"]
        if not asked:
            plain = {name: v for name, v in sorted(self.input.items()) if isinstance(v, str | int | float)}
            asked = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in plain.items())
        asked = asked or self.kind
        return asked if len(asked) <= 60 else f"{asked[:59]}…"

    @property
    def ended(self) -> bool:
        return self.state in ENDED


class ChainEntry(models.Model):
    """One link for each trace ever written: its hash covers the trace's hash and the link before. Never changed,
    never deleted (runs/guards.py), and without anybody's words, so that it outlives the trace.
    """

    sequence = models.PositiveBigIntegerField(primary_key=True)
    run = models.UUIDField(unique=True)
    body_hash = models.CharField(max_length=64)
    previous = models.CharField(max_length=64, unique=True)
    hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.sequence}: {self.hash[:12]}"


class Erasure(models.Model):
    """Why the trace of a link is gone. The database lets a trace go only where one of these was written first."""

    REASONS = [
        ("account", "the account was deleted"),
        ("retention", "its time was over"),
        ("owner", "its owner asked"),
    ]

    entry = models.OneToOneField(ChainEntry, on_delete=models.PROTECT, related_name="erasure")
    reason = models.CharField(max_length=16, choices=REASONS)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(reason__in=["account", "retention", "owner"]),
                name="erasure_reason_is_known",
            )
        ]

    def __str__(self) -> str:
        return f"{self.entry_id}: {self.reason}"


class Trace(models.Model):
    """What one run did, written once when it ends; its hash covers the body, and a link of the chain covers the hash."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="trace")
    entry = models.OneToOneField(ChainEntry, on_delete=models.PROTECT, related_name="trace")
    body = models.JSONField()
    hash = models.CharField(max_length=64)
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"trace of {self.run_id}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A trace is written once and never changed.")
        super().save(*args, **kwargs)


class RunShare(models.Model):
    """A run that anybody who holds its link may read; deleting the row revokes the link."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="share")
    key = models.CharField(max_length=43, unique=True)
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"share of {self.run_id}"
