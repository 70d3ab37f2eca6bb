"""The calculators in a real browser: live numbers, links, keyboard, phones, dark, and no fault that axe can find."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from interview.calculators.formulas import encodings
from interview.calculators.formulas.registry import CALCULATORS

CHROMIUM = next(
    (p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None
)
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu", "--disable-dev-shm-usage"]
KV = "/calculators/kv-cache/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Playwright's loop runs in this thread; Django must not take that for an asynchronous view.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    yield opened
    context.close()
    assert not problems


def test_numbers_follow_the_inputs_and_the_address_follows_the_numbers(
    page: Page, live_server: LiveServer
) -> None:
    page.goto(f"{live_server.url}{KV}")
    headline = page.locator("#headline")
    expect(headline).to_have_text("16.777")
    page.select_option("#f-model", "openai/gpt-3-175b")
    page.fill("#f-tokens", "4096")
    expect(headline).to_have_text("19.327")
    expect(page).to_have_url(f"{live_server.url}{KV}?v=1&model=openai/gpt-3-175b&tokens=4096")
    page.fill("#f-tokens", "12x")
    expect(page.locator("#f-tokens-e")).to_contain_text("“12x” is not a whole number")
    expect(page.locator("#f-tokens")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#f-tokens")).to_have_value("12x")
    page.fill("#f-tokens", "8192")
    expect(headline).to_have_text("38.655")
    expect(page.locator("#f-tokens-e")).to_be_hidden()
    page.reload()
    expect(headline).to_have_text("38.655")


def test_a_change_shows_soon(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}{KV}")
    page.fill("#f-tokens", "1000")
    expect(page.locator("#headline")).to_have_text("0.131")
    started = time.perf_counter()
    page.fill("#f-tokens", "2000")
    while page.locator("#headline").text_content() != "0.262":
        assert time.perf_counter() - started < 0.75  # 150 ms is the aim; five times that on a busy machine


def test_a_short_link_is_made_opened_and_deleted(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}{KV}?model=openai/gpt-3-175b&tokens=4096")
    page.get_by_role("button", name="Make a short link").click()
    short = page.locator("#short-link").get_attribute("href") or ""
    delete = page.get_by_role("link", name="the link that deletes it").get_attribute("href") or ""
    page.goto(short)
    expect(page.locator("#headline")).to_have_text("19.327")
    page.goto(f"{live_server.url}{delete}")
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("heading", name="The link is deleted")).to_be_visible()


def test_it_works_without_javascript(browser: Browser, live_server: LiveServer) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live_server.url}{KV}")
    page.fill("#f-tokens", "4096")
    page.select_option("#f-model", "openai/gpt-3-175b")
    page.get_by_role("button", name="Work it out").click()
    expect(page.locator("#headline")).to_have_text("19.327")
    page.get_by_role("button", name="Make a short link").click()
    expect(page.get_by_role("heading", name="Your short link")).to_be_visible()
    context.close()


def test_the_number_stays_in_sight_on_a_phone(browser: Browser, live_server: LiveServer) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 640})
    page = context.new_page()
    page.goto(f"{live_server.url}{KV}")
    page.locator("#f-dtype").scroll_into_view_if_needed()
    box = page.locator(".headline-number").bounding_box()
    assert box and 0 <= box["y"] < 320
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_fault_that_axe_finds_and_nothing_wider_than_a_phone(
    browser: Browser, live_server: LiveServer, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": 320, "height": 640}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    for address in ["/calculators/", *(f"/calculators/{slug}/" for slug in CALCULATORS), f"{KV}?tokens=x"]:
        page.goto(f"{live_server.url}{address}")
        for details in page.locator("details").all():
            details.evaluate("node => { node.open = true; }")
        found = Axe().run(page).response["violations"]
        assert not found, [(address, v["id"], v["nodes"][0]["html"][:200]) for v in found]
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, address
    context.close()


def test_a_long_text_is_shared_and_all_tokenizers_come_by_and_by(page: Page, live_server: LiveServer) -> None:
    encodings.SHELF.clear()
    page.goto(f"{live_server.url}/calculators/tokens/?compare=all")
    expect(page.locator("#tables[hx-post]")).to_have_count(0, timeout=60_000)
    expect(page.locator("#tables")).to_contain_text("Mistral")
    page.get_by_label("Text", exact=True).fill("long words, " * 500)
    expect(page.locator(".bench-reading")).to_contain_text("too long for a link")
    page.get_by_role("button", name="Make a short link").click()
    expect(page.locator("#shared")).to_contain_text("/c/")
