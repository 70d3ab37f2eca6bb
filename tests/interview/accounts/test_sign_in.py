"""Sign in and out, and where one goes from there."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from tests.conftest import PASSWORD
from tests.interview.accounts.doors import sign_in, signed_in_as

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("email", ["owner@example.org", "OWNER@Example.org", " owner@example.org\u200b"])
def test_it_signs_in_in_any_case(anonymous_client: Client, owner: User, email: str) -> None:
    assert sign_in(anonymous_client, email, PASSWORD)["Location"] == "/"
    assert signed_in_as(anonymous_client) == owner


@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("owner@example.org", "wrong"),
        ("nobody@example.org", PASSWORD),
        ("owner@example.org", PASSWORD.upper()),
        ("owner@example.org", "x" * 1_000),
    ],
)
def test_wrong_is_one_answer_whichever_part_is_wrong(
    anonymous_client: Client, owner: User, email: str, password: str
) -> None:
    answer = sign_in(anonymous_client, email, password)
    assert answer.status_code == 422
    assert answer.context["form"].non_field_errors() == [
        "That address and password don't go together. Check both, or reset the password."
    ]
    assert signed_in_as(anonymous_client) is None


@pytest.mark.parametrize(
    "text", ["", "x" * 100_000, "\u200b", "<script>", "null\x00", "' OR 1=1 --", "a@exa\ufffdmple.org"]
)
def test_bad_input_in_both_fields(anonymous_client: Client, owner: User, text: str) -> None:
    assert sign_in(anonymous_client, text, PASSWORD).status_code == 422
    assert sign_in(anonymous_client, "owner@example.org", text).status_code == 422
    assert signed_in_as(anonymous_client) is None


def test_an_inactive_account_and_a_guest_stay_out(anonymous_client: Client, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_active=False)
    User.objects.create_guest()
    assert sign_in(anonymous_client, "owner@example.org", PASSWORD).status_code == 422


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        ("/questions/?q=kv", "/questions/?q=kv"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("http:///evil.example", "/"),
        ("/a\x00b", "/"),
        ("/a\r\nSet-Cookie: b", "/"),
        ("/" + "x" * 100_000, "/"),
        ("questions/", "/"),
        ("", "/"),
    ],
)
def test_next_stays_on_this_site(anonymous_client: Client, owner: User, wanted: str, taken: str) -> None:
    answer = sign_in(anonymous_client, "owner@example.org", PASSWORD, next=wanted)
    assert answer.status_code == 302
    assert answer["Location"] == taken


def test_next_goes_along_to_the_form_and_to_signing_up(anonymous_client: Client) -> None:
    page = anonymous_client.get("/account/sign-in/?next=/questions/%3Fq%3Da%26b").content.decode()
    assert 'name="next" value="/questions/?q=a&amp;b"' in page
    assert "/account/sign-up/?next=%2Fquestions%2F%3Fq%3Da%26b" in page


def test_signing_out_ends_the_session(owner_client: Client) -> None:
    answer = owner_client.post(reverse("accounts:sign_out"))
    assert answer["Location"] == "/" and signed_in_as(owner_client) is None
    assert owner_client.get("/account/tokens/").status_code == 302


def test_signing_out_needs_a_post(owner_client: Client, owner: User) -> None:
    assert owner_client.get(reverse("accounts:sign_out")).status_code == 405
    assert signed_in_as(owner_client) == owner


def test_the_session_of_a_deleted_account_is_nobodys(owner_client: Client, owner: User) -> None:
    owner.delete()
    assert owner_client.get("/account/").status_code == 200
    assert "as a guest" in owner_client.get("/account/").content.decode()
