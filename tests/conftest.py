"""Shared fixtures: the embedded Valkey, and three personas (owner, other, anonymous)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from interview.accounts.models import User
from interview.questions.loader import Bank, load_bank
from interview.questions.management.commands.load_questions import BANK
from interview.questions.models import Question
from interview.questions.services import bank_sync

# Fixtures through which a test reaches the database, and the folders whose tests reach it, or the broker, by themselves.
STORED = {"db", "transactional_db", "live_server", "client", "async_client"}
SERVED = ("tests/interview/runs/", "tests/interview/serve/", "tests/interview/test_")
PASSWORD = "correct horse battery staple"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--stored",
        action="store_true",
        help="only tests that use the database or the broker: the others give the same on every server",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--stored"):
        kept = [item for item in items if is_stored(item)]
        config.hook.pytest_deselected(items=[item for item in items if not is_stored(item)])
        items[:] = kept


def is_stored(item: pytest.Item) -> bool:
    """Can what this test finds depend on which database and broker are there?"""
    fixtures = set(getattr(item, "fixturenames", ()))
    by_itself = item.nodeid.startswith(SERVED) and "test_house" not in item.nodeid
    return by_itself or bool(STORED & fixtures) or item.get_closest_marker("django_db") is not None


@pytest.fixture(scope="session", autouse=True)
def valkey() -> Iterator[None]:
    """A real Valkey for the whole run where REDIS_URL names no server."""
    if os.environ.get("REDIS_URL"):
        yield
        return
    from interview.runs.valkey import EmbeddedValkey

    server = EmbeddedValkey(Path(settings.VAR_DIR))
    server.start()
    yield
    server.stop()


@pytest.fixture(autouse=True)
def _clean_cache(valkey: None) -> None:
    """Each test starts without rate limits, events or presence left by another."""
    from interview.runs.connection import client

    client().flushdb()


@pytest.fixture
def owner(db: None) -> User:
    """The persona whose things they are."""
    return User.objects.create_user("owner@example.org", PASSWORD, name="Olive Owner")


@pytest.fixture
def other(db: None) -> User:
    """Somebody else with an account: must see and change nothing of the owner's."""
    return User.objects.create_user("other@example.org", PASSWORD, name="Otto Other")


@pytest.fixture
def owner_client(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


@pytest.fixture
def other_client(other: User) -> Client:
    client = Client()
    client.force_login(other)
    return client


@pytest.fixture
def anonymous_client(db: None) -> Client:
    return Client()


@pytest.fixture(scope="session")
def parsed_bank() -> Bank:
    """The bank's files, read once."""
    return load_bank(BANK)


@pytest.fixture
def bank(db: None, parsed_bank: Bank) -> Bank:
    """The whole question bank in the database."""
    bank_sync(parsed_bank)
    return parsed_bank


@pytest.fixture
def question(bank: Bank) -> Question:
    """The question most tests are about."""
    return Question.objects.select_related("rubric").get(pk="why-is-long-context-expensive")
