"""Every route about webhooks and who may use it: scores leave the site by them, so they are the owner's alone."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from interview.teaching.services.classes import class_archive
from interview.webhooks.models import Delivery, Webhook
from interview.webhooks.services import LIMIT
from interview.webhooks.urls import urlpatterns
from tests.interview.teaching.conftest import World, client_of

pytestmark = pytest.mark.django_db
PERSONAS = ("nobody", "stranger", "learner", "assistant", "teacher", "owner")
URL = "https://grades.example.org/in"
ROUTES = {
    "webhook_list": ("get", (302, 404, 403, 403, 403, 200)),
    "webhook_page": ("get", (302, 404, 403, 403, 403, 200)),
    "webhook_ping": ("post", (302, 404, 403, 403, 403, 302)),
    "secret_renew": ("post", (302, 404, 403, 403, 403, 302)),
    "webhook_resume": ("post", (302, 404, 403, 403, 403, 302)),
    "webhook_delete": ("post", (302, 404, 403, 403, 403, 302)),
}


def address(name: str, webhook: Webhook) -> str:
    more = [] if name == "webhook_list" else [webhook.pk]
    return reverse(f"webhooks:{name}", args=[webhook.classroom_id, *more])


@pytest.fixture
def webhook(world: World) -> Webhook:
    return Webhook.objects.create(classroom=world.classroom, url=URL)


def test_every_route_is_in_the_table() -> None:
    assert {pattern.name for pattern in urlpatterns} == set(ROUTES)


@pytest.mark.parametrize("persona", PERSONAS)
@pytest.mark.parametrize("name", ROUTES)
def test_rights(world: World, webhook: Webhook, name: str, persona: str) -> None:
    method, expected = ROUTES[name]
    client = Client() if persona == "nobody" else client_of(getattr(world, persona))
    answer = getattr(client, method)(address(name, webhook))
    assert answer.status_code == expected[PERSONAS.index(persona)]
    if answer.status_code in (403, 404):
        assert URL not in answer.content.decode()


@pytest.mark.parametrize("name", [name for name in ROUTES if name != "webhook_list"])
def test_another_class_does_not_open_it(world: World, webhook: Webhook, name: str) -> None:
    """The stranger owns a class of their own and knows the webhook's id."""
    there = reverse(f"webhooks:{name}", args=[world.elsewhere.pk, webhook.pk])
    assert getattr(client_of(world.stranger), ROUTES[name][0])(there).status_code == 404


def test_making_one_sends_a_test_message_and_shows_the_secret(world: World) -> None:
    client = client_of(world.owner)
    here = reverse("webhooks:webhook_list", args=[world.classroom.pk])
    page = client.post(here, {"url": f" {URL} "}, follow=True).content.decode()
    assert "whsec_" in page and "test message" in page
    assert Delivery.objects.get().event == "ping"
    again = client.post(here, {"url": URL})
    assert again.status_code == 422 and "already" in again.content.decode()
    for number in range(LIMIT - 1):
        assert client.post(here, {"url": f"{URL}/{number}"}).status_code == 302
    assert "at most 5" in client.post(here, {"url": f"{URL}/more"}).content.decode()


@pytest.mark.parametrize(
    "url", ["http://example.org/", "https://10.0.0.1/", "https://u:p@example.org/", "hello"]
)
def test_a_wrong_address_is_told_and_kept(world: World, url: str) -> None:
    here = reverse("webhooks:webhook_list", args=[world.classroom.pk])
    page = client_of(world.owner).post(here, {"url": url})
    assert page.status_code == 422 and f'value="{url}"' in page.content.decode()
    assert not Webhook.objects.exists()


def test_an_archived_class_makes_none_but_can_delete(world: World, webhook: Webhook) -> None:
    class_archive(classroom=world.classroom)
    client = client_of(world.owner)
    assert client.post(address("webhook_list", webhook), {"url": f"{URL}/2"}).status_code == 409
    assert client.post(address("webhook_ping", webhook)).status_code == 409
    assert client.post(address("webhook_delete", webhook)).status_code == 302
    assert not Webhook.objects.exists()
