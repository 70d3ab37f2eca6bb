"""Writes of the calculators: making, deleting and clearing away short links."""

from __future__ import annotations

import hashlib
import secrets

from django.core.cache import cache
from django.utils import timezone

from interview.calculators.formulas.registry import Outcome
from interview.calculators.models import ShareLink

LINKS_PER_HOUR = 60


class TooManyLinks(Exception):
    """One address made more short links in an hour than anybody needs."""


def share(outcome: Outcome, address: str) -> tuple[ShareLink, str]:
    """A new short link for a result, and its delete token. Raises TooManyLinks."""
    _count(address)
    token = secrets.token_urlsafe(16)
    link = ShareLink.objects.create(
        slug=outcome.calculator.slug, query=outcome.query, delete_token_hash=_hashed(token)
    )
    return link, token


def delete(link: ShareLink, token: str) -> bool:
    """Forget the link's text if the token is the right one; True when it is gone afterwards."""
    if not secrets.compare_digest(link.delete_token_hash, _hashed(token)):
        return False
    link.deleted = link.deleted or timezone.now()
    link.query = ""
    link.save(update_fields=["deleted", "query"])
    return True


def clear_expired() -> int:
    """Empty the text of links whose time is over; how many."""
    over = ShareLink.objects.filter(expires__lte=timezone.now()).exclude(query="")
    return over.update(query="")


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _count(address: str) -> None:
    key = f"calculators:links:{hashlib.sha256(address.encode()).hexdigest()[:20]}"
    cache.add(key, 0, timeout=3600)
    if cache.incr(key) > LINKS_PER_HOUR:
        raise TooManyLinks(f"more than {LINKS_PER_HOUR} links in an hour")
