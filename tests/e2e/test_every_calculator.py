"""A new user finds, changes, compares, shares and embeds each calculator."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site

pytestmark = pytest.mark.e2e

# Slug, heading, field, what a visitor writes there, and what the answer then says.
CHANGES = [
    ("tokens", "Tokens", "text", "Hello, world!", "4"),
    ("kv-cache", "KV cache", "tokens", "4096", "0.537"),
    ("context-budget", "Context budget", "window", "64000", "47"),
    ("attention", "Attention cost", "tokens", "4096", "62.9"),
    ("parameters", "Parameters", "model", "openai/gpt-3-175b", "174"),
    ("sampling", "Sampling", "temperature", "0.5", "0.7692"),
    ("loss", "Loss and perplexity", "values", "0.01", "4.6"),
    ("latency", "Latency", "output", "1000", "6.5"),
    ("cost", "Cost", "output_tokens", "800", "0.013"),
    ("bpe", "BPE trainer", "words", "low 5, lower 2, newest 6, widest 3", ""),
    ("positions", "Rotary positions", "query", "700", ""),
    ("batching", "Batching", "rate", "1", ""),
    ("speculative", "Speculative decoding", "acceptance", "0.6", "1.907"),
    ("selection", "Model choice", "tasks", "5000", ""),
]
EACH = [(["1280 light", "360 dark"][i % 2], *change) for i, change in enumerate(CHANGES)]


@pytest.mark.parametrize(("page", "slug", "heading", "field", "value", "says"), EACH, indirect=["page"])
def test_found_changed_compared_shared_and_embedded(
    page: Page, site: Site, slug: str, heading: str, field: str, value: str, says: str
) -> None:
    page.goto("/calculators/")
    page.locator("main").get_by_role("link", name=re.compile(f"^{heading}")).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    first = page.locator("#result").inner_text()
    page.get_by_role("link", name="Keep to compare").click()
    change(page, field, value)
    expect(page).to_have_url(re.compile(f"{field}="))
    expect(page.locator("#result")).not_to_have_text(first)
    expect(page.locator("#headline")).to_contain_text(says)
    expect(page.locator("#result figure").first.locator("svg")).to_be_visible()
    assert "vs=" in page.url, "the kept configuration stays in the link"
    answer = page.locator("#headline").inner_text()
    recipient_sees(page, site, page.url, answer)
    recipient_sees(page, site, short_link(page), answer)
    framed(page, site, answer)


def change(page: Page, field: str, value: str) -> None:
    box = page.locator(f"#f-{field}")
    if box.evaluate("e => e.tagName") == "SELECT":
        box.select_option(value)
    else:
        box.fill(value)


def short_link(page: Page) -> str:
    page.get_by_role("button", name="Make a short link").click()
    return page.locator("#short-link").inner_text()


def recipient_sees(page: Page, site: Site, address: str, answer: str) -> None:
    """Somebody who has never been here opens the link and reads the same number."""
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(address)
    expect(tab.locator("#headline")).to_have_text(answer)
    assert tab.locator("meta[property='og:image']").get_attribute("content")
    context.close()


def framed(page: Page, site: Site, answer: str) -> None:
    """The copied markup works in a page of an allowed site, and the frame stays live."""
    page.get_by_text("Embed it in a page").click()
    page.get_by_role("button", name="Copy the frame").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    markup = page.evaluate("navigator.clipboard.readText()")
    assert html.unescape(markup).startswith(f'<iframe src="{site.url}/calculators/')
    with serving(f"<!doctype html><title>A post</title>{markup}", urlsplit(site.framer).port or 0):
        page.goto(site.framer)
        frame = page.frame_locator("iframe")
        expect(frame.locator("#headline")).to_have_text(answer)
        expect(frame.get_by_role("link", name="Open in Prefill")).to_be_visible()


@contextmanager
def serving(body: str, port: int) -> Iterator[None]:
    """Somebody else's page, on the origin that may embed."""

    class Post(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path == "/"
            self.send_response(200 if is_page else 204)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            if is_page:
                self.wfile.write(body.encode())

        def log_message(self, *words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", port), Post)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
