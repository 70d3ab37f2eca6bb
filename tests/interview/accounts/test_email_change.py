"""Another address counts only once the letter sent there was answered, by a button."""

from __future__ import annotations

import pytest
import time_machine
from django.test import Client

from interview.accounts.models import User
from tests.conftest import PASSWORD
from tests.interview.accounts.doors import letters, link_in, nothing_more_is_sent

pytestmark = pytest.mark.django_db
URL = "/account/email/"


def ask(client: Client, email: str = "Next@example.org", password: str = PASSWORD) -> int:
    return client.post(URL, {"email": email, "current_password": password}).status_code


def test_the_letter_then_the_button_change_it(owner_client: Client, owner: User) -> None:
    assert ask(owner_client) == 302
    letter = letters(1)[0]
    assert letter.to == ["next@example.org"]
    link = link_in(letter)
    assert owner_client.get(link).status_code == 200
    owner.refresh_from_db()
    assert owner.email == "owner@example.org"
    assert owner_client.post(link).status_code == 302
    owner.refresh_from_db()
    assert owner.email == "next@example.org"
    assert letters(2)[1].to == ["owner@example.org"]
    assert owner_client.post(link).status_code == 410


def test_a_link_is_for_its_own_account_and_for_a_day(owner_client: Client, other_client: Client) -> None:
    ask(owner_client)
    link = link_in(letters(1)[0])
    assert other_client.post(link).status_code == 410
    assert Client().get(link).status_code == 302
    with time_machine.travel("2099-01-01"):
        assert Client().get(link).status_code == 302
        assert owner_client.get("/account/email/confirm/made-up:1:2/").status_code in {302, 410}


def test_an_old_link_is_refused(owner: User, owner_client: Client) -> None:
    with time_machine.travel("2026-05-01T12:00:00Z", tick=False) as clock:
        owner_client.force_login(owner)
        ask(owner_client)
        link = link_in(letters(1)[0])
        clock.shift(24 * 3600 + 1)
        assert owner_client.post(link).status_code == 410


def test_a_taken_address_gets_no_letter_and_the_page_does_not_tell(owner_client: Client, other: User) -> None:
    assert ask(owner_client, "other@example.org") == 302
    nothing_more_is_sent()
    letters(0)


def test_an_address_taken_meanwhile_is_refused(owner_client: Client, owner: User) -> None:
    ask(owner_client)
    link = link_in(letters(1)[0])
    User.objects.create_user("next@example.org", PASSWORD)
    assert owner_client.post(link).status_code == 302
    owner.refresh_from_db()
    assert owner.email == "owner@example.org"


@pytest.mark.parametrize("email", ["", "x" * 100_000, "no", "null\x00@example.org", "a@exa\ufffdmple.org"])
def test_bad_addresses_are_refused(owner_client: Client, email: str) -> None:
    assert ask(owner_client, email) == 422


def test_the_password_is_needed(owner_client: Client) -> None:
    assert ask(owner_client, password="wrong") == 422
    nothing_more_is_sent()
    letters(0)


@pytest.mark.parametrize("claim", ["x", "a:b:c", "🙂", "%00", "a" * 5000])
def test_made_up_claims(owner_client: Client, claim: str) -> None:
    assert owner_client.get(f"/account/email/confirm/{claim}/").status_code == 410
