"""Who may read somebody else's collection. Rooms above register a reader, so that this one knows none of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Q

from interview.accounts.models import User
from interview.documents.models import Collection


@dataclass(frozen=True)
class Share:
    """A way collections are shared read-only.

    `readable(user)` selects the collections the user may read by it; `audience(collection)` names who that is, for
    the collection's owner.
    """

    name: str
    readable: Callable[[User], Q]
    audience: Callable[[Collection], list[str]]


_shares: dict[str, Share] = {}


def register(share: Share) -> None:
    """Make a way of sharing known; the last registration of a name wins (autoreload)."""
    _shares[share.name] = share


def unregister(name: str) -> None:
    """Forget a way of sharing."""
    _shares.pop(name, None)


def readable(user: User) -> Q:
    """Selects the collections a user may read: their own, and those any room shares with them."""
    chosen = Q(owner=user)
    for share in _shares.values():
        chosen |= share.readable(user)
    return chosen


def audience(collection: Collection) -> list[str]:
    """Who else may read a collection, in words."""
    return [name for share in _shares.values() for name in share.audience(collection)]
