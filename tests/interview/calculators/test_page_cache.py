"""Kept pages: the same for everybody, with everybody's own token, and never for somebody who holds something here."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from interview.calculators import page_cache
from interview.calculators.management.commands import measure_pages
from interview.calculators.page_cache import PAGES
from interview.runs.models import Run

pytestmark = pytest.mark.django_db
KV = "/calculators/kv-cache/?tokens=4096"
TOKEN = re.compile(r'csrfmiddlewaretoken" value="([^"]*)"')


def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses whose page was made, not kept."""
    from interview.calculators import views

    asked: list[str] = []
    original = views.respond

    def counting(request: Any, *args: Any, **more: Any) -> Any:
        asked.append(request.get_full_path())
        return original(request, *args, **more)

    monkeypatch.setattr(views, "respond", counting)
    return asked


def test_a_page_is_made_once_and_each_visitor_has_their_own_token(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = made(monkeypatch)
    clients = [Client(enforce_csrf_checks=True) for _ in range(3)]
    pages = [client.get(KV) for client in clients]
    assert asked == [KV]
    texts = [page.content.decode() for page in pages]
    assert TOKEN.sub("", texts[0]) == TOKEN.sub("", texts[1])
    assert len({TOKEN.findall(text)[0] for text in texts}) == 3
    assert [p["X-Frame-Options"] for p in pages] == ["DENY"] * 3 and pages[0]["Vary"] == pages[1]["Vary"]
    for client, text in zip(clients, texts, strict=True):
        token = TOKEN.findall(text)[-1]
        sent = client.post("/calculators/kv-cache/measure/", {"query": "v=1", "csrfmiddlewaretoken": token})
        assert sent.status_code == 302
    assert Run.objects.count() == 3


def test_who_has_a_session_gets_a_page_of_their_own(
    owner_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Client().get(KV)
    asked = made(monkeypatch)
    page = owner_client.get(KV).content.decode()
    assert asked == [KV] and "Keep it" in page
    assert "Keep it" not in Client().get(KV).content.decode()


def test_fragments_posts_errors_and_long_texts_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = made(monkeypatch)
    client = Client()
    for _ in range(2):
        client.get(KV, headers={"HX-Request": "true", "HX-Target": "result"})
        client.get("/calculators/kv-cache/?tokens=x")
        client.get(f"/calculators/tokens/?text={'word%20' * 400}")
        client.post("/calculators/tokens/", {"text": "hi"})
    assert len(asked) == 8


def test_the_frame_keeps_its_policy(settings: Any) -> None:
    settings.EMBED_ANCESTORS = ["https://blog.example.org"]
    for _ in range(2):
        framed = Client().get("/calculators/kv-cache/?embed=1")
        assert "https://blog.example.org" in framed["Content-Security-Policy"]
        assert "X-Frame-Options" not in framed


def test_pages_grow_old_and_the_oldest_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = made(monkeypatch)
    monkeypatch.setattr(page_cache, "SECONDS", -1.0)
    Client().get(KV)
    Client().get(KV)
    assert len(asked) == 2
    monkeypatch.setattr(page_cache, "SECONDS", 300.0)
    monkeypatch.setattr(page_cache, "MOST_PAGES", 2)
    for tokens in (1, 2, 3):
        Client().get(f"/calculators/kv-cache/?tokens={tokens}")
    assert len(PAGES._pages) == 2


def test_the_measurement_measures(settings: Any) -> None:
    settings.ROOT_URLCONF = measure_pages.__name__
    rows = {row["page"]: row for row in measure_pages.measure(0.05)}
    assert rows["kv-cache"]["again"] > rows["kv-cache"]["first"] > 0
    assert len(rows) == 15
