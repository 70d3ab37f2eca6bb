"""Whose work is this? The signed-in account, or the guest this browser has become by doing something."""

from __future__ import annotations

from django.http import HttpRequest

from interview.accounts.models import User

GUEST_KEY = "guest_id"


def guest_of(request: HttpRequest) -> User | None:
    """The guest this browser's session holds, if it is still one."""
    guest_id = request.session.get(GUEST_KEY)
    if guest_id is None:
        return None
    return User.objects.filter(pk=guest_id, is_guest=True, merged_into=None).first()


def owner_of(request: HttpRequest) -> User | None:
    """The account or guest behind a request, or None for a visitor who left nothing here yet."""
    if request.user.is_authenticated:
        return request.user
    return guest_of(request)


def owner_or_guest(request: HttpRequest) -> User:
    """The owner; a visitor without one becomes a guest kept in the session."""
    owner = owner_of(request)
    if owner is None:
        owner = User.objects.create_guest()
        request.session[GUEST_KEY] = owner.pk
    return owner
