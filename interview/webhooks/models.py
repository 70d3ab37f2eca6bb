"""Addresses that a class's gradebook is told to, what was sent there, and what each has been told."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone

from interview.teaching.models import Assignment, Classroom

CHANGED, PING = "gradebook.changed", "ping"


class Webhook(models.Model):
    """An address of a class. Its secret is derived from its id, `secret_number` and SECRET_KEY: none is stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    classroom = models.ForeignKey(Classroom, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    secret_number = models.PositiveIntegerField(default=1)
    created = models.DateTimeField(default=timezone.now)
    failures = models.PositiveSmallIntegerField(default=0, help_text="In a row")
    next_try = models.DateTimeField(null=True, blank=True)
    busy_until = models.DateTimeField(
        null=True, blank=True, help_text="A worker is sending, at most until then"
    )
    disabled = models.DateTimeField(null=True, blank=True)
    why = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["created", "id"]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """Something an address is told. Whom it is about is kept, not what: the numbers are read when it is sent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=32)
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, null=True, related_name="+")
    members = models.JSONField(default=list, help_text="Memberships whose line of the gradebook changed")
    created = models.DateTimeField(default=timezone.now)
    sent = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    said = models.CharField(
        max_length=300, blank=True, help_text="The beginning of the answer, or what went wrong"
    )

    class Meta:
        ordering = ["created", "id"]
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["webhook", "sent", "created"], name="delivery_waiting")]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook_id}"


class Told(models.Model):
    """What an address knows of an assignment: a digest of each member's line."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="told")
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="+")
    digests = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "told"
        constraints = [models.UniqueConstraint("webhook", "assignment", name="told_once_per_assignment")]

    def __str__(self) -> str:
        return f"what {self.webhook_id} knows of {self.assignment_id}"
