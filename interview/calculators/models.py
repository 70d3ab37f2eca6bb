"""Short links, and the configurations that somebody keeps under a name."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
ID_LENGTH = 9
LIFETIME = timedelta(days=365)


def new_id() -> str:
    """A random id without look-alike letters; about 52 bits."""
    return "".join(secrets.choice(ALPHABET) for _ in range(ID_LENGTH))


def default_expiry() -> datetime:
    """A year from now."""
    return timezone.now() + LIFETIME


class ShareLink(models.Model):
    """`/c/<id>`. The delete token is stored hashed; a deleted link keeps its row, not its text."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id, editable=False)
    slug = models.CharField(max_length=40)
    query = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now)
    expires = models.DateTimeField(default=default_expiry, db_index=True)
    deleted = models.DateTimeField(null=True, blank=True)
    delete_token_hash = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"/c/{self.id} ({self.slug})"

    @property
    def is_gone(self) -> bool:
        """Expired or deleted."""
        return self.deleted is not None or self.expires <= timezone.now()


class SavedConfiguration(models.Model):
    """A calculator's inputs that an account keeps under a name of its own."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_configurations"
    )
    slug = models.CharField(max_length=40)
    name = models.CharField(max_length=80)
    query = models.TextField()
    created = models.DateTimeField(default=timezone.now)
    updated = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["slug", "name", "id"]
        constraints = [
            models.UniqueConstraint(
                "owner", "slug", "name", name="saved_name_unique_per_owner_and_calculator"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.slug})"
