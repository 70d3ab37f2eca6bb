"""A new password by a letter; nobody learns from it who has an account."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import ApiToken, User
from interview.accounts.services import token_create
from tests.conftest import PASSWORD
from tests.interview.accounts.doors import (
    STRONG,
    become_guest,
    letters,
    link_in,
    nothing_more_is_sent,
    sign_in,
    signed_in_as,
)

pytestmark = pytest.mark.django_db
URL = "/account/password/reset/"


def form_behind(client: Client, link: str) -> str:
    """The address of the form: Django moves the token into the session first."""
    return client.get(link)["Location"]


def test_the_letter_leads_to_a_new_password(anonymous_client: Client, owner: User) -> None:
    answer = anonymous_client.post(URL, {"email": "OWNER@example.org"})
    assert answer["Location"] == reverse("accounts:password_reset_done")
    letter = letters(1)[0]
    assert letter.to == ["owner@example.org"] and "http://testserver/account/" in letter.body
    form = form_behind(anonymous_client, link_in(letter))
    assert anonymous_client.get(form).status_code == 200
    done = anonymous_client.post(form, {"password": STRONG})
    assert done["Location"] == reverse("accounts:password_reset_complete")
    assert sign_in(anonymous_client, "owner@example.org", STRONG).status_code == 302


def without_csrf(page: Any) -> str:
    return re.sub(r'x-csrftoken": "\w+"', "", page.content.decode())


def test_known_and_unknown_get_the_same_answer(owner: User) -> None:
    known = Client().post(URL, {"email": "owner@example.org"}, follow=True)
    letters(1)
    unknown = Client().post(URL, {"email": "nobody@example.org"}, follow=True)
    assert known.redirect_chain == unknown.redirect_chain
    assert without_csrf(known) == without_csrf(unknown)
    nothing_more_is_sent()
    letters(1)


def test_guests_and_inactive_accounts_get_no_letter(anonymous_client: Client, owner: User) -> None:
    become_guest(anonymous_client)
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert anonymous_client.post(URL, {"email": "owner@example.org"}).status_code == 302
    nothing_more_is_sent()
    letters(0)


@pytest.mark.parametrize(
    "email", ["", "x" * 100_000, "<b>", "null\x00@example.org", "\u200b", "a@exa\ufffdmple.org"]
)
def test_bad_addresses_are_refused(anonymous_client: Client, email: str) -> None:
    assert anonymous_client.post(URL, {"email": email}).status_code == 422


def test_a_link_works_once_and_revokes_sessions_and_tokens(
    anonymous_client: Client, owner_client: Client, owner: User
) -> None:
    token_create(owner=owner, name="made by whoever was in")
    anonymous_client.post(URL, {"email": "owner@example.org"})
    link = link_in(letters(1)[0])
    form = form_behind(anonymous_client, link)
    anonymous_client.post(form, {"password": STRONG})
    assert not ApiToken.objects.exists()
    assert "as a guest" in owner_client.get("/account/").content.decode()
    again = Client().get(link)
    assert again.status_code == 200 and "no longer works" in again.content.decode()


@pytest.mark.parametrize("password", ["", "short", "1234567890123", "x" * 100_000, "null\x00 in a password"])
def test_bad_passwords_change_nothing(anonymous_client: Client, owner: User, password: str) -> None:
    anonymous_client.post(URL, {"email": "owner@example.org"})
    form = form_behind(anonymous_client, link_in(letters(1)[0]))
    assert anonymous_client.post(form, {"password": password}).status_code == 422
    owner.refresh_from_db()
    assert owner.check_password(PASSWORD)


@pytest.mark.parametrize(
    "link", ["MQ/abc-def", "x/set-password", "%00/abc-123", "MQ/" + "a" * 3000, "🙂/x-y"]
)
def test_a_made_up_link_opens_nothing(anonymous_client: Client, owner: User, link: str) -> None:
    answer = anonymous_client.get(f"{URL}{link}/")
    assert answer.status_code == 200 and "no longer works" in answer.content.decode()
    assert signed_in_as(anonymous_client) is None
