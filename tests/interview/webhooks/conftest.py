from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interview.webhooks.models import Webhook
from interview.webhooks.services import webhook_create
from tests.interview.teaching.conftest import World, world
from tests.interview.webhooks.receiver import Receiver, listening

__all__ = ["world"]


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Receiver]:
    """A server on this machine that the operator trusts."""
    settings.WEBHOOK_PRIVATE_HOSTS = ["localhost"]
    with listening(tmp_path) as (server, trusted):
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        yield server


@pytest.fixture
def webhook(world: World, receiver: Receiver) -> Webhook:
    return webhook_create(classroom=world.classroom, url=receiver.url)
