"""Prompts with their versions, and pins: what is written once and asked again later."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone


class Prompt(models.Model):
    """A named prompt template; what it says stands in its versions."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="prompts")
    name = models.CharField(max_length=80)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class PromptVersion(models.Model):
    """One state of a prompt, written once; `hash` covers what the model may be sent."""

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    system = models.TextField(blank=True)
    body = models.TextField()
    note = models.CharField(max_length=200, blank=True)
    hash = models.CharField(max_length=64)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint("prompt", "number", name="prompt_version_number_unique"),
            models.CheckConstraint(
                condition=models.Q(number__gte=1), name="prompt_version_number_starts_at_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prompt_id} version {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A version of a prompt is written once; write a new one.")
        super().save(*args, **kwargs)


class Pin(models.Model):
    """Prompts and a configuration that are kept as they are, to be asked again later."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="pins")
    name = models.CharField(max_length=80)
    body = models.JSONField()
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return self.name
