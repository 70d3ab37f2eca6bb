"""A platform that answers, registered by the class's owner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.lti.keys import key_set
from interview.lti.models import Course, Platform, PlatformAccount, ResourceLink
from tests.interview.lti.platform import AGS_SCOPES, CLIENT, CORE, DEPLOYMENT, INSTRUCTOR, SimulatedPlatform
from tests.interview.teaching.conftest import World, world

__all__ = ["world"]


@pytest.fixture
def moodle(db: None, settings: Any) -> Iterator[SimulatedPlatform]:
    """The platform's own side."""
    settings.LTI_HOSTS = ["127.0.0.1"]
    keys = key_set()  # read here: the server's threads see nothing of this test's transaction
    platform = SimulatedPlatform(lambda: keys)
    yield platform
    platform.stop()


@pytest.fixture
def platform(world: World, moodle: SimulatedPlatform) -> Platform:
    """The platform as it is registered here."""
    return Platform.objects.create(
        owner=world.owner,
        name="Our Moodle",
        issuer=moodle.url,
        client_id=CLIENT,
        deployments=[DEPLOYMENT],
        login_url=f"{moodle.url}/auth",
        token_url=f"{moodle.url}/token",
        keys_url=f"{moodle.url}/keys",
    )


@pytest.fixture
def course(world: World, platform: Platform) -> Course:
    """The world's class as a course of the platform."""
    return Course.objects.create(
        platform=platform, classroom=world.classroom, context="course-9", title="Serving models 2026"
    )


@pytest.fixture
def link(world: World, course: Course, moodle: SimulatedPlatform) -> ResourceLink:
    """A link in the course that opens the world's assignment and takes scores."""
    return ResourceLink.objects.create(
        course=course,
        assignment=world.assignment,
        resource="link-3",
        line_item=f"{moodle.url}/items/3?type=lti",
        line_items=f"{moodle.url}/items",
        scopes=AGS_SCOPES,
    )


def came_from(platform: Platform, user: User, sub: str) -> PlatformAccount:
    return PlatformAccount.objects.create(platform=platform, owner=user, sub=sub)


def begin(client: Client, moodle: SimulatedPlatform, platform: Platform, **changes: Any) -> dict[str, str]:
    """The first step; what the browser carries to the platform."""
    data = {"iss": moodle.url, "login_hint": "42", "client_id": CLIENT, "lti_message_hint": "7", **changes}
    answer = client.post(reverse("lti:login", args=[platform.pk]), data)
    assert answer.status_code == 302, answer.content.decode()
    to = urlsplit(answer["Location"])
    assert f"{to.scheme}://{to.netloc}{to.path}" == f"{moodle.url}/auth"
    return {name: values[0] for name, values in parse_qs(to.query).items()}


def launch(
    client: Client, moodle: SimulatedPlatform, platform: Platform, *, follow: bool = True, **changes: Any
) -> Any:
    """Both steps; `changes` are claims by their full name, or `roles`, `message`, `resource`, `custom`."""
    asked = begin(client, moodle, platform)
    short = {"roles", "resource_link", "context", "custom", "message_type", "deployment_id"}
    claims = {f"{CORE}{name}" if name in short else name: value for name, value in changes.items()}
    token = moodle.sign(moodle.claims(asked["nonce"], **claims))
    data = {"state": asked["state"], "id_token": token}
    return client.post(reverse("lti:launch", args=[platform.pk]), data, follow=follow)


TEACHING: dict[str, Any] = {"roles": [INSTRUCTOR], "sub": "teacher-1", "name": "Tess Teacher"}
