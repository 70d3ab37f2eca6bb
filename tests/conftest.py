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

PASSWORD = "correct horse battery staple"


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
