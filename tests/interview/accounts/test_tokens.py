"""API tokens: shown once, stored hashed, listed with their last use, revoked at once."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.test import Client

from interview.accounts import services
from interview.accounts.models import ApiToken, User

pytestmark = pytest.mark.django_db
URL = "/account/tokens/"


def test_a_token_is_shown_once_and_stored_hashed(owner_client: Client, owner: User) -> None:
    page = owner_client.post(f"{URL}create/", {"name": "laptop"})
    secret = page.context["secret"]
    assert page.status_code == 200 and secret in page.content.decode()
    assert page["Cache-Control"].count("no-store") == 1
    token = ApiToken.objects.get()
    assert token.digest == hashlib.sha256(secret.encode()).hexdigest()
    assert secret.startswith("prefill_") and token.prefix == secret[:12]
    listed = owner_client.get(URL).content.decode()
    assert secret not in listed and token.prefix in listed and "never" in listed


def test_the_last_use_is_listed(owner_client: Client, owner: User) -> None:
    token, secret = services.token_create(owner=owner, name="script")
    Client().get("/api/v1/calculators", headers={"authorization": f"Bearer {secret}"})
    token.refresh_from_db()
    assert token.last_used is not None
    assert "never" not in owner_client.get(URL).content.decode()


@pytest.mark.parametrize("name", ["", "\u200b", "x" * 61, "x" * 100_000, "null\x00", "bell\x07"])
def test_bad_names_are_refused(owner_client: Client, name: str) -> None:
    assert owner_client.post(f"{URL}create/", {"name": name}).status_code == 422
    assert not ApiToken.objects.exists()


def test_a_name_is_used_once(owner_client: Client, owner: User) -> None:
    owner_client.post(f"{URL}create/", {"name": "laptop"})
    again = owner_client.post(f"{URL}create/", {"name": "laptop"})
    assert again.status_code == 422 and "Give this one another name" in again.content.decode()
    assert ApiToken.objects.count() == 1


def test_there_is_a_limit(owner: User) -> None:
    for n in range(services.TOKEN_LIMIT):
        services.token_create(owner=owner, name=str(n))
    with pytest.raises(services.TokenRefused, match="50 tokens"):
        services.token_create(owner=owner, name="one more")


def test_revoking_is_at_once(owner_client: Client, owner: User) -> None:
    token, secret = services.token_create(owner=owner, name="lost laptop")
    assert owner_client.post(f"{URL}{token.pk}/revoke/").status_code == 302
    answer = Client().get("/api/v1/calculators", headers={"authorization": f"Bearer {secret}"})
    assert answer.status_code == 401


def test_nobody_revokes_somebody_elses(other_client: Client, anonymous_client: Client, owner: User) -> None:
    token, _ = services.token_create(owner=owner, name="mine")
    assert other_client.post(f"{URL}{token.pk}/revoke/").status_code == 404
    assert anonymous_client.post(f"{URL}{token.pk}/revoke/").status_code == 302
    assert ApiToken.objects.filter(pk=token.pk).exists()
    assert "mine" not in other_client.get(URL).content.decode()


def test_a_number_beyond_the_database_is_not_found(owner_client: Client) -> None:
    assert owner_client.post(f"{URL}{10**30}/revoke/").status_code == 404


def test_the_list_needs_as_many_queries_for_many_as_for_one(
    owner_client: Client, owner: User, django_assert_num_queries: Any
) -> None:
    for n in range(20):
        services.token_create(owner=owner, name=str(n))
    with django_assert_num_queries(3):  # session, user, tokens
        owner_client.get(URL)
