"""The demo sign-ins exist only where DEMO is on, and making them twice changes nothing."""

from __future__ import annotations

import stat
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from interview.accounts.models import User
from interview.accounts.services import demo_create, demo_sign_ins
from tests.interview.accounts.doors import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo(settings: Settings, tmp_path: Path) -> Path:
    settings.DEMO = True
    settings.VAR_DIR = tmp_path
    return tmp_path / "demo_password"


def test_both_sign_in_with_the_printed_password(demo: Path) -> None:
    out = StringIO()
    call_command("create_demo", stdout=out)
    pairs = [line.split() for line in out.getvalue().splitlines()]
    assert [email for email, _ in pairs] == ["learner@example.org", "teacher@example.org"]
    assert {sign_in(Client(), email, password).status_code for email, password in pairs} == {302}
    assert stat.S_IMODE(demo.stat().st_mode) == 0o600


def test_twice_changes_nothing(demo: Path) -> None:
    demo_create()
    before, stored = demo_sign_ins(), list(User.objects.values())
    demo_create()
    assert (demo_sign_ins(), list(User.objects.values())) == (before, stored)


def test_a_password_from_the_settings_is_used(demo: Path, settings: Settings) -> None:
    demo_create()
    settings.DEMO_PASSWORD = "given by whoever runs it"
    demo_create()
    assert demo_sign_ins()[0] == ("learner@example.org", "given by whoever runs it")
    assert sign_in(Client(), *demo_sign_ins()[1]).status_code == 302


def test_without_demo_there_are_none(settings: Settings, tmp_path: Path) -> None:
    settings.DEMO, settings.VAR_DIR = False, tmp_path
    assert demo_sign_ins() == [] and demo_create() == []
    with pytest.raises(CommandError, match="DEMO is off"):
        call_command("create_demo")
    assert not User.objects.exists() and not list(tmp_path.iterdir())
