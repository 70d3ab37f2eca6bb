"""Change the password: the old one is asked for, other browsers are signed out."""

from __future__ import annotations

import pytest
from django.test import Client

from interview.accounts.models import User
from tests.conftest import PASSWORD
from tests.interview.accounts.doors import STRONG, sign_in, signed_in_as

pytestmark = pytest.mark.django_db
URL = "/account/password/"


def test_it_changes_and_this_browser_stays_in(owner_client: Client, owner: User) -> None:
    elsewhere = Client()
    elsewhere.force_login(owner)
    answer = owner_client.post(URL, {"current_password": PASSWORD, "new_password": STRONG})
    assert answer.status_code == 302
    owner.refresh_from_db()
    assert owner.check_password(STRONG) and signed_in_as(owner_client) == owner
    assert owner_client.get("/account/tokens/").status_code == 200
    assert elsewhere.get("/account/tokens/").status_code == 302
    assert sign_in(Client(), "owner@example.org", PASSWORD).status_code == 422


@pytest.mark.parametrize(
    ("current", "new", "field"),
    [
        ("wrong", STRONG, "current_password"),
        ("", STRONG, "current_password"),
        ("null\x00", STRONG, "current_password"),
        ("x" * 100_000, STRONG, "current_password"),
        (PASSWORD, "", "new_password"),
        (PASSWORD, "short", "new_password"),
        (PASSWORD, "owner@example.org", "new_password"),
        (PASSWORD, "x" * 100_000, "new_password"),
        (PASSWORD, "null\x00 in a password", "new_password"),
    ],
)
def test_refusals_name_the_field(
    owner_client: Client, owner: User, current: str, new: str, field: str
) -> None:
    answer = owner_client.post(URL, {"current_password": current, "new_password": new})
    assert answer.status_code == 422 and list(answer.context["form"].errors) == [field]
    owner.refresh_from_db()
    assert owner.check_password(PASSWORD)


def test_guessing_the_old_password_is_limited(owner_client: Client) -> None:
    body = {"current_password": "wrong", "new_password": STRONG}
    statuses = [owner_client.post(URL, body).status_code for _ in range(11)]
    assert statuses == [422] * 10 + [429]
