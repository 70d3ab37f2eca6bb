"""Writes of the calculators: short links made, deleted and cleared away; configurations kept under a name."""

from __future__ import annotations

import hashlib
import secrets

from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.calculators.formulas.registry import Outcome
from interview.calculators.models import SavedConfiguration, ShareLink
from interview.plain_text import is_blank, storable

LINKS_PER_HOUR = 60
MOST_KEPT = 200
LONGEST_NAME = 80
LONGEST_KEPT = 8000


class NotKept(ValueError):
    """A configuration can't be kept; the message says why and what to do."""


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


@transaction.atomic
def keep(owner: User, outcome: Outcome, name: str) -> SavedConfiguration:
    """Keep a result's inputs under a name; the same name of the same calculator is written over. Raises NotKept."""
    name = " ".join(storable(name).split())
    if is_blank(name) or len(name) > LONGEST_NAME:
        raise NotKept(f"Give it a name of at most {LONGEST_NAME} characters.")
    if len(outcome.query) > LONGEST_KEPT:
        raise NotKept("This text is too long to keep here. Make a short link: it holds it for a year.")
    own = SavedConfiguration.objects.filter(owner=User.objects.select_for_update().get(pk=owner.pk))
    if own.count() >= MOST_KEPT and not own.filter(slug=outcome.calculator.slug, name=name).exists():
        raise NotKept(f"You keep {MOST_KEPT} configurations, and that is the limit. Delete one first.")
    kept, _ = SavedConfiguration.objects.update_or_create(
        owner=owner,
        slug=outcome.calculator.slug,
        name=name,
        defaults={"query": outcome.query, "updated": timezone.now()},
    )
    return kept


def forget(kept: SavedConfiguration) -> None:
    """Delete a kept configuration."""
    kept.delete()


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _count(address: str) -> None:
    key = f"calculators:links:{hashlib.sha256(address.encode()).hexdigest()[:20]}"
    cache.add(key, 0, timeout=3600)
    if cache.incr(key) > LINKS_PER_HOUR:
        raise TooManyLinks(f"more than {LINKS_PER_HOUR} links in an hour")
