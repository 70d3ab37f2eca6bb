"""Whose work is this? The signed-in account, or the guest this browser has become by doing something."""

from __future__ import annotations

from django.http import HttpRequest

from interview.accounts.models import User

GUEST_KEY = "guest_id"


def owner_of(request: HttpRequest) -> User | None:
    """The account or guest behind a request, or None for a visitor who left nothing here yet."""
    if request.user.is_authenticated:
        return request.user
    guest_id = request.session.get(GUEST_KEY)
    return User.objects.filter(pk=guest_id, is_guest=True).first() if guest_id else None


def owner_or_guest(request: HttpRequest) -> User:
    """The owner; a visitor without one becomes a guest kept in the session."""
    owner = owner_of(request)
    if owner is None:
        owner = User.objects.create_guest()
        request.session[GUEST_KEY] = owner.pk
    return owner
