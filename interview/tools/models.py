"""The demonstration ledger, and the effects a model has proposed and only its user can let happen."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

PROPOSED, DONE, DECLINED, FAILED = "proposed", "done", "declined", "failed"
STATES = [(state, state) for state in (PROPOSED, DONE, DECLINED, FAILED)]


class Order(models.Model):
    """Something that was bought, in the demonstration ledger; everybody has their own."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="demo_orders")
    number = models.CharField(max_length=12)
    item = models.CharField(max_length=80)
    paid_cents = models.PositiveIntegerField()

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint("owner", "number", name="order_number_unique_per_owner")]

    def __str__(self) -> str:
        return self.number


class Proposal(models.Model):
    """A call with an effect that the model asked for. Its id is the idempotency key: it happens once or not at all."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="proposals")
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="proposals")
    tool = models.CharField(max_length=64)
    arguments = models.JSONField()
    words = models.CharField(max_length=200, help_text="What would happen, as its user reads it")
    state = models.CharField(max_length=16, choices=STATES, default=PROPOSED)
    result = models.JSONField(null=True)
    created = models.DateTimeField(default=timezone.now)
    decided = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s for s, _ in STATES]), name="proposal_state_is_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.id} ({self.state})"


class Refund(models.Model):
    """Money given back, in the demonstration ledger; one for each confirmed proposal."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="refunds")
    proposal = models.OneToOneField(Proposal, on_delete=models.CASCADE, related_name="refund")
    amount_cents = models.PositiveIntegerField()
    note = models.CharField(max_length=200, help_text="What its user confirmed")
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(amount_cents__gt=0), name="refund_amount_above_zero")
        ]

    def __str__(self) -> str:
        return f"{self.amount_cents} on {self.order_id}"
