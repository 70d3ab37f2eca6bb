"""Reads about accounts."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from interview.accounts.models import ApiToken, User

LAST_USED_GRAIN = timedelta(minutes=5)


def token_digest(secret: str) -> str:
    """sha256 of a token in hex: what the database keeps."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def api_token_owner(secret: str) -> User | None:
    """The active account behind a personal token, or None."""
    token = (
        ApiToken.objects.select_related("owner")
        .filter(digest=token_digest(secret), owner__is_active=True)
        .first()
    )
    if token is None:
        return None
    now = timezone.now()
    if token.last_used is None or now - token.last_used > LAST_USED_GRAIN:
        ApiToken.objects.filter(pk=token.pk).update(last_used=now)
    return token.owner


def token_list(owner: User) -> QuerySet[ApiToken]:
    """Somebody's personal tokens, newest first."""
    return ApiToken.objects.filter(owner=owner)
