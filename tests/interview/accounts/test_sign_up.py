"""Sign up: an account from an address, a password and, if wanted, a name."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from interview.accounts.models import User
from tests.interview.accounts.doors import EMAIL, STRONG, sign_up, signed_in_as

pytestmark = pytest.mark.django_db


def errors(response: object) -> dict[str, list[str]]:
    return {name: list(found) for name, found in response.context["form"].errors.items()}  # type: ignore[attr-defined]


def test_it_makes_an_account_and_signs_in(anonymous_client: Client) -> None:
    answer = sign_up(anonymous_client, name="Ada Example", time_zone="Europe/Zurich", next="/questions/")
    assert answer.status_code == 302 and answer["Location"] == "/questions/"
    account = User.objects.get()
    assert (account.email, account.name, account.time_zone) == (EMAIL, "Ada Example", "Europe/Zurich")
    assert account.check_password(STRONG) and signed_in_as(anonymous_client) == account


@pytest.mark.parametrize(
    "zone", ["", "Mars/Olympus", "x" * 100_000, "\x00", "../../etc/passwd", "<b>UTC</b>"]
)
def test_a_guess_that_is_no_zone_becomes_utc(anonymous_client: Client, zone: str) -> None:
    assert sign_up(anonymous_client, time_zone=zone).status_code == 302
    assert User.objects.get().time_zone == "UTC"


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("New@Example.ORG", "new@example.org"),
        ("  new@example.org\u200b ", "new@example.org"),
        ("ｎｅｗ@example.org", "new@example.org"),
        ("new@Münster.example", "new@xn--mnster-3ya.example"),
    ],
)
def test_an_address_has_one_spelling(anonymous_client: Client, typed: str, stored: str) -> None:
    assert sign_up(anonymous_client, email=typed).status_code == 302
    assert User.objects.get().email == stored


@pytest.mark.parametrize("again", ["new@example.org", "NEW@EXAMPLE.ORG", "ｎew@example.org"])
def test_an_address_is_taken_in_every_case(anonymous_client: Client, again: str) -> None:
    sign_up(anonymous_client)
    answer = sign_up(Client(), email=again)
    assert answer.status_code == 422
    assert "already has an account" in errors(answer)["email"][0]
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "email",
    [
        "",
        "no at sign",
        "a@b",
        "x" * 100_000,
        "x" * 300 + "@example.org",
        "\u200b",
        "zero\u200bwidth@example.org",
        "<script>@example.org",
        "null\x00@example.org",
        "a@exa\ufffdmple.org",
        "ünï@example.org",
        "a@" + "b" * 70 + ".org",
        "a@.org",
    ],
)
def test_a_bad_address_is_refused_with_a_reason(anonymous_client: Client, email: str) -> None:
    answer = sign_up(anonymous_client, email=email, name="Kept Name")
    assert answer.status_code == 422
    assert errors(answer)["email"]
    assert "Kept Name" in answer.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "password",
    ["", "short", "1234567890123", "password123", "new@example.org", "x" * 100_000, "null\x00 in a password"],
)
def test_a_bad_password_is_refused_with_a_reason(anonymous_client: Client, password: str) -> None:
    answer = sign_up(anonymous_client, password=password)
    assert answer.status_code == 422
    assert errors(answer)["password"]
    field = re.search(r'<input type="password"[^>]*>', answer.content.decode())
    assert field and "value" not in field[0]
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "password",
    ["  spaces at both ends  ", "\u200b\u200b\u200b\u200b\u200b zero width", "<b>bold</b> 漢字 🙂"],
)
def test_a_password_is_kept_exactly(anonymous_client: Client, password: str) -> None:
    assert sign_up(anonymous_client, password=password).status_code == 302
    assert User.objects.get().check_password(password)


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("", ""),
        ("\u200b\u200b", ""),
        ("  Ada   Example \n", "Ada Example"),
        ("<b>Ada</b>", "<b>Ada</b>"),
        ("नेहा 🙂", "नेहा 🙂"),
    ],
)
def test_names_as_people_write_them(anonymous_client: Client, typed: str, stored: str) -> None:
    assert sign_up(anonymous_client, name=typed).status_code == 302
    assert User.objects.get().name == stored
    assert "<b>Ada" not in anonymous_client.get("/account/").content.decode()


@pytest.mark.parametrize("name", ["x" * 81, "x" * 100_000, "null\x00", "bell\x07", "turned \u202e round"])
def test_a_bad_name_is_refused(anonymous_client: Client, name: str) -> None:
    answer = sign_up(anonymous_client, name=name)
    assert answer.status_code == 422 and errors(answer)["name"]


def test_bytes_that_are_no_text_are_no_error(anonymous_client: Client) -> None:
    """A lone surrogate can only come as raw bytes; it becomes U+FFFD on the way in."""
    body = b"email=new%40example.org&password=a+long+unusual+sentence&name=%ED%A0%80half"
    answer = anonymous_client.post(
        "/account/sign-up/", body, content_type="application/x-www-form-urlencoded"
    )
    assert answer.status_code == 302
    assert User.objects.get().name.endswith("half")


def test_who_is_signed_in_goes_on(owner_client: Client) -> None:
    assert owner_client.get("/account/sign-up/?next=/questions/")["Location"] == "/questions/"
    sign_up(owner_client)
    assert User.objects.count() == 1


def test_looking_at_the_page_makes_nobody(anonymous_client: Client) -> None:
    page = anonymous_client.get("/account/sign-up/")
    assert page.status_code == 200 and "time-zone.js" in page.content.decode()
    assert not User.objects.exists()
