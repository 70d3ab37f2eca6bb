"""Journey 2 in a real browser: change the inputs, read the working, share the link, open it as somebody else."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Axed, Site

pytestmark = pytest.mark.e2e


def test_from_home_to_a_shared_number(page: Page, site: Site, axed: Axed) -> None:
    page.goto("/")
    page.get_by_role("link", name="Calculate").first.click()
    axed(page)
    page.get_by_role("link", name="KV cache").first.click()
    axed(page)
    page.get_by_label("Model", exact=True).select_option("openai/gpt-3-175b")
    page.locator("input[type=text][name=tokens], input[type=number][name=tokens]").first.fill("4096")
    expect(page.locator(".headline-number").first).to_contain_text("19.327")
    expect(page.locator(".headline-number").first).to_contain_text("18.0")
    expect(page.get_by_text("19 327 352 832").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"tokens=4096"))
    link = page.url
    axed(page)
    page.get_by_role("button", name="Make a short link").click()
    short = page.locator("#shared").get_by_text(re.compile(r"/c/\w+")).first
    expect(short).to_be_visible()
    address = re.search(r"/c/[\w-]+", short.inner_text() or "")
    assert address is not None
    recipient = page.context.browser.new_context(base_url=site.url).new_page()  # type: ignore[union-attr]
    for shared in (link, address.group()):
        recipient.goto(shared)
        expect(recipient.locator(".headline-number").first).to_contain_text("19.327")
        assert "19.3" in (recipient.locator("meta[property='og:title']").get_attribute("content") or "")
    recipient.context.close()


def test_the_back_button_brings_the_number_back(page: Page) -> None:
    page.goto("/calculators/kv-cache/?tokens=1000&v=1")
    before = page.locator(".headline-number").first.inner_text()
    page.goto("/calculators/kv-cache/?tokens=2000&v=1")
    assert page.locator(".headline-number").first.inner_text() != before
    page.go_back()
    expect(page.locator(".headline-number").first).to_have_text(before, use_inner_text=True)


def test_the_number_stays_in_sight_on_a_phone(page: Page) -> None:
    page.goto("/calculators/kv-cache/")
    page.get_by_label("Cache dtype").scroll_into_view_if_needed()
    expect(page.locator(".headline-number").first).to_be_in_viewport()


def test_the_model_confirms_the_bytes(page: Page, axed: Axed) -> None:
    page.goto("/calculators/kv-cache/")
    page.fill("#f-tokens", "64")
    expect(page).to_have_url(re.compile(r"tokens=64"))
    page.get_by_role("button", name="Run it on the model").click()
    expect(page.locator("#proof .status.is-done")).to_be_visible(timeout=30_000)
    row = page.locator("#proof tr", has_text="Bytes of all sequences")
    expect(row).to_contain_text("1\u202f474\u202f560 bytes")  # 64 × 2 × 30 layers × 3 heads × 64 × 2 bytes
    expect(row).to_contain_text("equal")
    axed(page)
