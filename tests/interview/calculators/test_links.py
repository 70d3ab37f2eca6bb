"""Short links: made on a click, opened, expired, deleted by whoever holds the token."""

from __future__ import annotations

import html
import io
import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from interview.calculators import services
from interview.calculators.models import ShareLink
from interview.runs.models import Run

pytestmark = pytest.mark.django_db
QUERY = "v=1&model=openai/gpt-3-175b&tokens=4096"


def made(client: Client, query: str = QUERY) -> tuple[ShareLink, str]:
    """A new link and the address that deletes it."""
    response = client.post("/c/", {"slug": "kv-cache", "query": query})
    assert response.status_code == 200
    page = html.unescape(response.content.decode())
    return ShareLink.objects.get(), re.findall(r'href="(/c/\w+/delete/\?token=[^"]+)"', page)[0]


def test_a_short_link_leads_to_the_canonical_one(client: Client) -> None:
    link, _ = made(client, "tokens=4096&model=gpt-3-175b")
    response = client.get(f"/c/{link.pk}")
    assert response.status_code == 302 and response["Location"] == f"/calculators/kv-cache/?{QUERY}"


def test_htmx_gets_the_link_as_a_fragment(client: Client) -> None:
    response = client.post("/c/", {"slug": "kv-cache", "query": QUERY}, headers={"HX-Request": "true"})
    assert b"<html" not in response.content and b"/c/" in response.content


def test_the_delete_token_is_needed_and_is_not_stored(client: Client) -> None:
    link, delete = made(client)
    token = delete.partition("token=")[2]
    assert token not in str(ShareLink.objects.values_list())
    assert client.post(f"/c/{link.pk}/delete/", {"token": "wrong"}).status_code == 403
    assert client.get(f"/c/{link.pk}").status_code == 302
    assert client.get(delete).status_code == 200
    assert client.get(f"/c/{link.pk}").status_code == 302
    assert client.post(f"/c/{link.pk}/delete/", {"token": token}).status_code == 200
    link.refresh_from_db()
    assert link.query == "" and client.get(f"/c/{link.pk}").status_code == 410
    assert client.get(delete).status_code == 410


def test_an_expired_link_is_gone_and_its_text_is_cleared(client: Client) -> None:
    link, _ = made(client)
    ShareLink.objects.update(expires=timezone.now() - timedelta(seconds=1))
    response = client.get(f"/c/{link.pk}")
    assert response.status_code == 410 and b"ended on" in response.content
    call_command("clear_links", stdout=(out := io.StringIO()))
    assert out.getvalue().startswith("1 expired") and services.clear_expired() == 0
    link.refresh_from_db()
    assert link.query == ""


@pytest.mark.parametrize("address", ["/c/nothing", "/c/%00", "/c/nothing/delete/", "/c/" + "x" * 5000])
def test_an_unknown_link_is_404(client: Client, address: str) -> None:
    assert client.get(address).status_code == 404


def test_nothing_wrong_is_stored(client: Client) -> None:
    assert client.post("/c/", {"slug": "kv-cache", "query": "tokens=x"}).status_code == 422
    assert client.post("/c/", {"slug": "nothing", "query": ""}).status_code == 404
    assert client.post("/c/").status_code == 404
    assert client.get("/c/").status_code == 405
    assert not ShareLink.objects.exists()


def test_making_links_needs_the_form_token() -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post("/c/", {"slug": "kv-cache", "query": QUERY}).status_code == 403


def test_one_address_cannot_fill_the_table(client: Client) -> None:
    for _ in range(services.LINKS_PER_HOUR):
        assert client.post("/c/", {"slug": "kv-cache", "query": QUERY}).status_code == 200
    assert client.post("/c/", {"slug": "kv-cache", "query": QUERY}).status_code == 429
    assert ShareLink.objects.count() == services.LINKS_PER_HOUR


def test_ids_are_random_and_hard_to_misread() -> None:
    ids = {ShareLink().pk for _ in range(1000)}
    assert len(ids) == 1000 and not set("".join(ids)) & set("01OIl")


def test_a_long_text_stands_in_its_page_once_and_in_no_address(client: Client) -> None:
    text = "wörter " * 4000
    client.post("/c/", {"slug": "tokens", "query": urlencode({"v": "1", "text": text})})
    address = f"/c/{ShareLink.objects.get().pk}"
    page = client.get(address).content.decode()
    encoded = page.count("w%C3%B6rter")
    assert encoded <= 4000, "and once where the form sends it to be measured"
    assert f'<link rel="canonical" href="http://testserver{address}">' in page
    assert f'<meta property="og:url" content="http://testserver{address}">' in page
    assert all(len(one) < 2000 for one in re.findall(r'(?:href|content|src)="([^"]*)"', page))
    posted = client.post("/calculators/tokens/", {"text": text}).content.decode()
    assert '<link rel="canonical" href="http://testserver/calculators/tokens/">' in posted
    assert "Make a short link" in posted and "Make a short link" not in page


LONG = "long words, " * 2000


def test_a_long_text_stands_in_the_page_once(client: Client, owner_client: Client) -> None:
    for one, headers in ((client, {}), (owner_client, {}), (owner_client, {"HX-Request": "true"})):
        target = {**headers, "HX-Target": "result"} if headers else {}
        page = one.post("/calculators/tokens/", {"text": LONG}, headers=target).content
        assert page.count(b"long%20words,") < 1000


def test_a_long_text_is_shared_and_measured_from_the_form_itself(client: Client) -> None:
    response = client.post("/c/?slug=tokens", {"text": LONG, "encoding": "cl100k_base", "vs": "x"})
    link = ShareLink.objects.get()
    assert response.status_code == 200 and link.slug == "tokens"
    assert LONG.encode() in client.get(f"/c/{link.pk}").content
    assert client.post("/c/?slug=tokens", {"text": "x", "colour": "red"}).status_code == 422
    client.post("/calculators/tokens/measure/", {"text": "some words", "special": "text"})
    run = Run.objects.get()
    assert run.input == {"calculator": "tokens", "query": "v=1&text=some%20words"}
