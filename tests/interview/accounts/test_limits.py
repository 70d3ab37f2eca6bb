"""Tries are counted by address and by account; while Redis is away each process counts by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.core.cache import caches
from django.http import HttpRequest
from django.test import Client, RequestFactory
from pytest_django import Settings

from interview import limits
from interview.accounts.models import User
from tests.conftest import PASSWORD
from tests.interview.accounts.doors import sign_in, sign_up, signed_in_as

pytestmark = pytest.mark.django_db
NOON = "2026-05-01T12:00:10Z"


@pytest.fixture(autouse=True)
def at_noon() -> Iterator[time_machine.Traveller]:
    """Windows begin at whole quarters of an hour: no test straddles two."""
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture
def redis_away(settings: Settings) -> Iterator[None]:
    """The cache's server doesn't answer; the process starts with no count of its own."""
    away = {**settings.CACHES["default"], "LOCATION": "unix:///nowhere/valkey.sock"}
    settings.CACHES = {"default": away}
    limits.LOCAL._counts.clear()
    yield
    limits.LOCAL._counts.clear()
    caches.close_all()


def wrong(client: Client, email: str = "owner@example.org", address: str = "192.0.2.1") -> int:
    body = {"email": email, "password": "wrong"}
    return client.post("/account/sign-in/", body, REMOTE_ADDR=address).status_code


def test_an_account_is_guarded_from_every_address(anonymous_client: Client, owner: User) -> None:
    statuses = [wrong(anonymous_client, address=f"192.0.2.{n}") for n in range(11)]
    assert statuses == [422] * 10 + [429]
    assert sign_in(anonymous_client, "OWNER@example.org", PASSWORD).status_code == 429
    assert signed_in_as(anonymous_client) is None


def test_an_address_is_guarded_for_every_account(anonymous_client: Client) -> None:
    statuses = [wrong(anonymous_client, email=f"nobody{n}@example.org") for n in range(41)]
    assert statuses == [422] * 40 + [429]
    assert wrong(anonymous_client, email="fresh@example.org", address="198.51.100.7") == 422


def test_the_answer_says_how_long_and_what_to_do(anonymous_client: Client, owner: User) -> None:
    for _ in range(10):
        wrong(anonymous_client)
    answer = sign_in(anonymous_client, "owner@example.org", PASSWORD)
    assert answer.status_code == 429
    assert answer["Retry-After"] == "890"
    page = answer.content.decode()
    assert "Too many sign-in attempts for this account. Try again in 15 minutes." in page


def test_a_new_window_starts_afresh(
    anonymous_client: Client, owner: User, at_noon: time_machine.Traveller
) -> None:
    for _ in range(11):
        wrong(anonymous_client)
    at_noon.shift(890)
    assert sign_in(anonymous_client, "owner@example.org", PASSWORD).status_code == 302


def test_a_class_behind_one_address_signs_in(owner: User) -> None:
    """Sign-ins that succeed are given back, so forty-odd learners in one room aren't locked out."""
    assert {sign_in(Client(), "owner@example.org", PASSWORD).status_code for _ in range(60)} == {302}


def test_success_forgets_the_accounts_failures(anonymous_client: Client, owner: User) -> None:
    for _ in range(9):
        wrong(anonymous_client)
    sign_in(Client(), "owner@example.org", PASSWORD)
    assert [wrong(anonymous_client) for _ in range(10)] == [422] * 10


def test_new_accounts_are_limited_by_address() -> None:
    statuses = [sign_up(Client(), email=f"new{n}@example.org").status_code for n in range(61)]
    assert statuses == [302] * 60 + [429]
    assert User.objects.count() == 60


def test_resets_are_limited_for_known_and_unknown_addresses_alike(owner: User) -> None:
    for email in ("owner@example.org", "nobody@example.org"):
        body = {"email": email}
        statuses = [Client().post("/account/password/reset/", body).status_code for _ in range(6)]
        assert statuses == [302] * 5 + [429]


@pytest.mark.usefixtures("redis_away")
def test_without_redis_the_process_counts(anonymous_client: Client, owner: User) -> None:
    assert [wrong(anonymous_client) for _ in range(11)] == [422] * 10 + [429]


@pytest.mark.usefixtures("redis_away")
def test_without_redis_success_is_given_back_too(owner: User) -> None:
    assert {sign_in(Client(), "owner@example.org", PASSWORD).status_code for _ in range(60)} == {302}


def test_the_process_keeps_a_bounded_number_of_counters() -> None:
    counters = limits.LocalCounters(3)
    for key in "abcd":
        counters.hit(key)
    assert list(counters._counts) == ["b", "c", "d"]
    assert counters.hit("a") == 1


def asked(**meta: Any) -> HttpRequest:
    return RequestFactory().get("/", **meta)


@pytest.mark.parametrize(
    ("peer", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", "unknown"),
        ("no address\x00", "no address\x00"),
    ],
)
def test_who_is_counted(peer: str, counted: str) -> None:
    assert limits.client_address(asked(REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR="203.0.113.9")) == counted


def test_a_forged_header_buys_no_tries(anonymous_client: Client) -> None:
    body = {"email": "", "password": "wrong"}
    statuses = []
    for n in range(41):
        body["email"] = f"nobody{n}@example.org"
        answer = anonymous_client.post("/account/sign-in/", body, HTTP_X_FORWARDED_FOR=f"203.0.113.{n}")
        statuses.append(answer.status_code)
    assert statuses[-1] == 429


def test_programs_get_json() -> None:
    refusal = limits.TooManyTries(limits.EXPORT_BY_OWNER, 61)
    answer = limits.refused(RequestFactory().get("/api/v1/me"), refusal)
    assert answer.status_code == 429 and answer["Retry-After"] == "61"
    assert b'"code": "too_many_requests"' in answer.content and b"2 minutes" in answer.content


@pytest.mark.parametrize(
    ("seconds", "words"), [(1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (61, "2 minutes")]
)
def test_waits_in_words(seconds: int, words: str) -> None:
    assert limits.in_words(seconds) == words


def test_the_cache_holds_no_address(anonymous_client: Client) -> None:
    from interview.runs.connection import client

    wrong(anonymous_client)
    keys = " ".join(client().keys("*limit:*"))  # type: ignore[arg-type]
    assert keys.count("limit:") == 2
    assert "owner" not in keys and "192.0.2.1" not in keys
