"""People: accounts by e-mail, guests who have not signed up yet, and API tokens."""

from __future__ import annotations

import re
import unicodedata
import zoneinfo
from functools import cache
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from interview.plain_text import INVISIBLE


@cache
def time_zone_names() -> frozenset[str]:
    """Every name the zone database holds (reading them all from disk takes a while, so once)."""
    return frozenset(zoneinfo.available_timezones())


def email_canonical(raw: str) -> str:
    """The one spelling of an address that is stored and compared: lower case, NFKC, the domain in ASCII.

    Raises `UnicodeError` for a domain that can't exist.
    """
    edges = INVISIBLE.pattern
    text = re.sub(f"^{edges}|{edges}$", "", unicodedata.normalize("NFKC", raw))
    local, at, domain = text.rpartition("@")
    return f"{local.lower()}{at}{domain.encode('idna').decode('ascii').lower()}"


def validate_time_zone(value: str) -> None:
    """Refuse a name the zone database doesn't hold."""
    if value not in time_zone_names():
        raise ValidationError(
            "“%(value)s” is not a time zone. Use a name such as Europe/Zurich.", params={"value": value}
        )


class UserManager(BaseUserManager["User"]):
    """Makes accounts and guests."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        user = self.model(email=email_canonical(email), **fields)
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
        try:
            return self.get(email=email_canonical(username or ""), is_guest=False)
        except UnicodeError as error:
            raise self.model.DoesNotExist from error


class User(AbstractBaseUser, PermissionsMixin):
    """Whoever owns work here. Guests have no e-mail address; everybody else has one."""

    email = models.EmailField("e-mail address", unique=True, null=True)
    name = models.CharField(max_length=80, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC", validators=[validate_time_zone])
    is_guest = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)
    merged_into = models.ForeignKey(
        "self",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="merged_guests",
        help_text="The account that took over a guest some of whose rows could not move",
    )

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    EXPORT_EXCLUDES: ClassVar[tuple[str, ...]] = ("password",)

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

    EXPORT_EXCLUDES: ClassVar[tuple[str, ...]] = ("digest",)

    class Meta:
        ordering = ["-created"]
        constraints = [models.UniqueConstraint("owner", "name", name="api_token_name_unique_per_owner")]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})"
