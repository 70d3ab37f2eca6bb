"""People: accounts by e-mail, guests who have not signed up yet, and API tokens."""

from __future__ import annotations

import zoneinfo
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone


def validate_time_zone(value: str) -> None:
    """Refuse a name the zone database doesn't hold."""
    if value not in zoneinfo.available_timezones():
        raise ValidationError(
            "“%(value)s” is not a time zone. Use a name such as Europe/Zurich.", params={"value": value}
        )


class UserManager(BaseUserManager["User"]):
    """Makes accounts and guests."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def create_guest(self) -> User:
        """A visitor who did something worth keeping; becomes an account by signing up."""
        guest = self.model(email=None, is_guest=True)
        guest.set_unusable_password()
        guest.save(using=self._db)
        return guest

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email__iexact=username, is_guest=False)


class User(AbstractBaseUser, PermissionsMixin):
    """Whoever owns work here. Guests have no e-mail address; everybody else has one."""

    email = models.EmailField("e-mail address", unique=True, null=True)
    name = models.CharField(max_length=80, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC", validators=[validate_time_zone])
    is_guest = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), name="user_email_unique_in_any_case"),
            models.CheckConstraint(
                condition=models.Q(is_guest=True, email__isnull=True)
                | models.Q(is_guest=False, email__isnull=False),
                name="user_is_guest_or_has_email",
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.email or f"guest {self.pk}"


class ApiToken(models.Model):
    """A personal token for `Authorization: Bearer`; only its sha256 is stored."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=60)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(default=timezone.now)
    last_used = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]
        constraints = [models.UniqueConstraint("owner", "name", name="api_token_name_unique_per_owner")]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})"
