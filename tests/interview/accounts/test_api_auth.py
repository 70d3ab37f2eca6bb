"""Programs come by token, browsers by session with its CSRF token, and a wrong token is a 401."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from interview.accounts.models import User
from interview.accounts.services import token_create
from tests.interview.accounts.doors import become_guest

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.interview.accounts.api_urls")]
ME, ECHO = "/api/test/me", "/api/test/echo"


def strict() -> Client:
    return Client(enforce_csrf_checks=True)


@pytest.fixture
def bearer(owner: User) -> dict[str, str]:
    return {"authorization": f"Bearer {token_create(owner=owner, name='test')[1]}"}


def test_me_by_token(bearer: dict[str, str]) -> None:
    assert Client().get(ME, headers=bearer).json() == {
        "email": "owner@example.org",
        "name": "Olive Owner",
        "time_zone": "UTC",
        "guest": False,
        "signed_in_by": "token",
    }


def test_me_by_session_and_as_a_guest(owner_client: Client, anonymous_client: Client) -> None:
    assert owner_client.get(ME).json()["signed_in_by"] == "session"
    assert anonymous_client.get(ME).status_code == 401
    become_guest(anonymous_client)
    assert anonymous_client.get(ME).json()["guest"] is True


def test_a_token_needs_no_csrf_token(bearer: dict[str, str], owner: User) -> None:
    assert strict().post(ECHO, headers=bearer).json() == {"owner": owner.pk}
    assert strict().post("/v1/plain", headers=bearer).content == str(owner.pk).encode()


def test_a_session_needs_one(owner: User) -> None:
    client = strict()
    client.force_login(owner)
    answer = client.post(ECHO)
    assert answer.status_code == 403 and answer.json()["code"] == "csrf"
    client.get("/account/sign-in/", follow=True)
    client.get("/account/")
    token = client.cookies["csrftoken"].value
    assert client.post(ECHO, headers={"x-csrftoken": token}).json() == {"owner": owner.pk}


def test_a_guests_session_needs_one_too() -> None:
    client = strict()
    become_guest(client)
    assert client.post(ECHO).status_code == 403


def test_guests_are_refused_where_an_account_is_needed(anonymous_client: Client) -> None:
    become_guest(anonymous_client)
    assert anonymous_client.post("/api/test/accounts-only").status_code == 401


@pytest.mark.parametrize("secret", ["wrong", "", "prefill_", "x" * 100_000, "\xff\xfe", "a b c"])
def test_a_wrong_token_is_401_with_a_code(owner_client: Client, secret: str) -> None:
    """Even with a good session beside it: whoever sends a token means it."""
    answer = owner_client.get(ME, headers={"authorization": f"Bearer {secret}"})
    assert answer.status_code == 401
    assert answer.json()["code"] == "invalid_token"
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_openais_addresses_answer_in_its_shape() -> None:
    answer = Client().post("/v1/plain", headers={"authorization": "Bearer wrong"})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"


def test_the_token_decides_not_the_session(bearer: dict[str, str], other_client: Client, owner: User) -> None:
    assert other_client.post(ECHO, headers=bearer).json() == {"owner": owner.pk}


def test_tokens_open_no_pages(bearer: dict[str, str]) -> None:
    assert Client().get("/elsewhere", headers=bearer).content == b"None"
    assert Client().get("/account/tokens/", headers=bearer).status_code == 302
    assert strict().post("/elsewhere", headers=bearer).status_code == 403


def test_an_inactive_accounts_token_opens_nothing(bearer: dict[str, str], owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert Client().get(ME, headers=bearer).status_code == 401


@pytest.mark.parametrize("scheme", ["Basic b3duZXI6eA==", "Token x", "bearer", "Bearer"])
def test_other_schemes_sign_nobody_in(scheme: str) -> None:
    assert Client().get(ME, headers={"authorization": scheme}).status_code == 401


def test_a_call_by_token_costs_few_queries(bearer: dict[str, str], django_assert_num_queries: Any) -> None:
    Client().get(ME, headers=bearer)
    with django_assert_num_queries(1):  # the token with its owner; the last use was noted a moment ago
        Client().get(ME, headers=bearer)


def test_it_is_described_as_a_bearer_scheme() -> None:
    described = Client().get("/api/test/openapi.json").json()
    assert described["components"]["securitySchemes"]["SessionOrToken"] == {
        "type": "http",
        "scheme": "bearer",
    }
