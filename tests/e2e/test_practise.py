"""Journey 1 in a real browser: pick, answer, be assessed, answer the probe, read the strong answer."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Axed

pytestmark = pytest.mark.e2e

ANSWER = (
    "The KV cache stores keys and values for every token in every layer, so its memory grows linearly with the "
    "number of tokens. "
)


def test_from_home_to_the_next_review(page: Page, axed: Axed) -> None:
    page.goto("/")
    axed(page)
    page.get_by_role("link", name="Practise").first.click()
    expect(page.get_by_role("heading", level=1, name="Practise")).to_be_visible()
    axed(page)
    page.get_by_label("Words").fill("long context")
    page.wait_for_url("**q=long*context**")
    expect(page.get_by_role("link", name="What is a token, and why")).to_have_count(0)
    page.get_by_role("link", name="Why is long context expensive?").click()
    axed(page)
    box = page.get_by_label("Your answer")
    box.fill("half")
    box.fill(ANSWER)
    expect(page.locator("[data-draft-status]")).to_have_text(re.compile(r"^saved \d\d:\d\d"))
    expect(page.locator("[data-draft-words]")).to_have_text("23 words")
    page.get_by_role("button", name="Check my answer").click()
    expect(page.locator("#score")).to_contain_text(re.compile(r"\d of \d"), timeout=15_000)
    expect(page.locator("mark.evidence").first).to_contain_text("memory grows linearly")
    page.locator(".point.is-met").first.hover()
    expect(page.locator("mark.evidence.is-lit")).to_have_count(1)
    expect(page.get_by_role("heading", name="A strong answer")).to_be_visible()
    expect(page.get_by_role("heading", name="A weak answer, and why")).to_be_visible()
    expect(page.locator("#score")).to_contain_text("next review on")
    axed(page)
    page.get_by_label("Your answer to the follow-up").fill(
        "In prefill every token attends to all earlier ones."
    )
    page.get_by_role("button", name="Answer the follow-up").click()
    expect(page.locator("section.card .points")).to_be_visible(timeout=15_000)
    axed(page)


def test_a_reload_keeps_what_was_typed(page: Page) -> None:
    page.goto("/questions/why-is-long-context-expensive/")
    page.get_by_label("Your answer").fill("Unfinished thought")
    page.reload()
    expect(page.get_by_label("Your answer")).to_have_value("Unfinished thought")


def test_a_lost_session_loses_no_word(page: Page) -> None:
    page.goto("/questions/why-is-long-context-expensive/")
    page.get_by_label("Your answer").fill("Typed before the session was lost")
    page.context.clear_cookies()
    page.goto("/account/sign-in/")
    page.goto("/questions/why-is-long-context-expensive/")
    expect(page.get_by_label("Your answer")).to_have_value("Typed before the session was lost")


def test_an_older_save_never_overwrites_another_window(page: Page) -> None:
    page.goto("/questions/why-is-long-context-expensive/")
    twin = page.context.new_page()
    twin.goto("/questions/why-is-long-context-expensive/")
    page.get_by_label("Your answer").fill("first window")
    expect(page.locator("[data-draft-status]")).to_have_text(re.compile("^saved"))
    twin.get_by_label("Your answer").fill("second window")
    expect(twin.get_by_text("This draft was changed in another window.")).to_be_visible()
    twin.get_by_role("button", name="Keep this one").click()
    expect(twin.locator("[data-draft-status]")).to_have_text(re.compile("^saved"))
    twin.reload()
    expect(twin.get_by_label("Your answer")).to_have_value("second window")


def test_the_keyboard_is_enough(page: Page) -> None:
    page.goto("/questions/why-is-long-context-expensive/")
    page.get_by_label("Your answer").focus()
    page.keyboard.type("Attention compares every token with every other, so prefill is quadratic.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#score")).to_contain_text(re.compile(r"\d of \d"), timeout=15_000)


@pytest.mark.parametrize(
    "address",
    [
        "/questions/",
        "/topics/kv-cache/",
        "/practice/",
        "/practice/progress/",
        "/topics/",
        "/which-layer/?facts=fast&undo=yes",
        "/runs/",
        "/classes/",
        "/documents/",
        "/sets/",
        "/nowhere/",
    ],
)
def test_the_other_pages_are_clean(page: Page, axed: Axed, address: str) -> None:
    if address == "/nowhere/":
        # The browser itself reports a 404 on its console; the page is checked all the same.
        page.context.route("**/nowhere/", lambda route: route.fulfill(response=route.fetch(), status=200))
    page.goto(address)
    axed(page)
