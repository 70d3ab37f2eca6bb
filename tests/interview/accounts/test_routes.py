"""Every route of the room: who may, with which method, with a CSRF token, and at what cost."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.accounts.services import token_create
from interview.accounts.urls import urlpatterns
from tests.interview.accounts.doors import become_guest

pytestmark = pytest.mark.django_db

# name: (arguments, what a visitor gets, what a guest gets, what an account gets) for GET; 405 = POST only
ROUTES: dict[str, tuple[list[object], int, int, int]] = {
    "profile": ([], 200, 200, 200),
    "sign_up": ([], 200, 200, 302),
    "sign_in": ([], 200, 200, 302),
    "sign_out": ([], 405, 405, 405),
    "typed": ([], 302, 302, 200),
    "typed_discard": ([], 405, 405, 405),
    "tokens": ([], 302, 302, 200),
    "token_create": ([], 405, 405, 405),
    "token_revoke": ([1], 405, 405, 405),
    "email_change": ([], 302, 302, 200),
    "email_confirm": (["x"], 302, 302, 410),
    "export": ([], 404, 200, 200),
    "delete": ([], 404, 200, 200),
    "password_change": ([], 302, 302, 200),
    "password_reset": ([], 200, 200, 200),
    "password_reset_done": ([], 200, 200, 200),
    "password_reset_complete": ([], 200, 200, 200),
    "password_reset_confirm": (["x", "y"], 200, 200, 200),
}
FORMS = [
    name
    for name in ROUTES
    if name not in {"export", "password_reset_done", "password_reset_complete", "typed"}
]


def address(name: str) -> str:
    return reverse(f"accounts:{name}", args=ROUTES[name][0])


def test_every_route_is_in_the_table() -> None:
    assert {pattern.name for pattern in urlpatterns} == set(ROUTES)


@pytest.mark.parametrize("name", ROUTES)
def test_a_visitor(anonymous_client: Client, name: str) -> None:
    answer = anonymous_client.get(address(name))
    assert answer.status_code == ROUTES[name][1]
    if answer.status_code == 302:
        assert answer["Location"].startswith("/account/sign-in/?next=")
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ROUTES)
def test_a_guest(anonymous_client: Client, name: str) -> None:
    become_guest(anonymous_client)
    assert anonymous_client.get(address(name)).status_code == ROUTES[name][2]


@pytest.mark.parametrize("name", ROUTES)
def test_an_account(owner_client: Client, name: str) -> None:
    assert owner_client.get(address(name)).status_code == ROUTES[name][3]


@pytest.mark.parametrize("name", FORMS)
def test_forms_need_their_csrf_token(owner: User, name: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    answer = client.post(address(name), {"name": "x", "confirm": "owner@example.org"})
    assert answer.status_code == 403
    assert "The form has expired" in answer.content.decode()
    assert User.objects.filter(pk=owner.pk).exists()


@pytest.mark.parametrize("name", ["export", "password_reset_done", "password_reset_complete", "typed"])
def test_pages_without_a_form_take_no_post(owner_client: Client, name: str) -> None:
    assert owner_client.post(address(name)).status_code == 405


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
@pytest.mark.parametrize("name", ROUTES)
def test_no_route_takes_other_methods(owner_client: Client, name: str, method: str) -> None:
    assert getattr(owner_client, method)(address(name)).status_code == 405


@pytest.mark.parametrize(
    ("name", "visitor", "account"),
    [("sign_in", 0, 2), ("sign_up", 0, 2), ("profile", 0, 2), ("password_reset", 0, 2), ("tokens", 0, 3)],
)
def test_queries(
    anonymous_client: Client,
    owner_client: Client,
    owner: User,
    django_assert_num_queries: Any,
    name: str,
    visitor: int,
    account: int,
) -> None:
    token_create(owner=owner, name="one")
    with django_assert_num_queries(visitor):
        anonymous_client.get(address(name))
    with django_assert_num_queries(account):
        owner_client.get(address(name))


@pytest.mark.parametrize("name", ["profile", "sign_in", "sign_up", "tokens", "export", "delete"])
def test_what_is_personal_is_not_stored_on_the_way(owner_client: Client, name: str) -> None:
    assert "no-store" in owner_client.get(address(name))["Cache-Control"]
