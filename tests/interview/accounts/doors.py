"""What the account tests share: doing things as a visitor does them."""

from __future__ import annotations

import re
import time
from typing import Any

from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.accounts.owners import GUEST_KEY

EMAIL = "new@example.org"
STRONG = "a long unusual sentence"


def sign_up(client: Client, **fields: str) -> Any:
    """Send the sign-up form."""
    return client.post(reverse("accounts:sign_up"), {"email": EMAIL, "password": STRONG, **fields})


def sign_in(client: Client, email: str, password: str, **more: str) -> Any:
    """Send the sign-in form."""
    return client.post(reverse("accounts:sign_in"), {"email": email, "password": password, **more})


def become_guest(client: Client) -> User:
    """The guest a visitor becomes by doing something, kept in this client's session."""
    guest = User.objects.create_guest()
    session = client.session
    session[GUEST_KEY] = guest.pk
    session.save()
    assert session.session_key
    client.cookies["sessionid"] = session.session_key
    return guest


def signed_in_as(client: Client) -> User | None:
    """Who the client's session belongs to."""
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key) if key else None


def letters(count: int) -> list[EmailMessage]:
    """The letters sent so far, once there are `count` (they go out in the background)."""
    deadline = time.monotonic() + 5
    while len(mail.outbox) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(mail.outbox) == count
    return mail.outbox


def link_in(letter: EmailMessage) -> str:
    """The path of the link in a letter."""
    found = re.search(r"https?://[^/\s]+(/\S+)", str(letter.body))
    assert found, letter.body
    return found[1]


def nothing_more_is_sent() -> None:
    """Wait for the background senders by sending through all of them."""
    from interview.accounts.mail import _senders

    for waiting in [_senders.submit(time.sleep, 0.05) for _ in range(2)]:
        waiting.result()
