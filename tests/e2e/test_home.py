"""The front door and the frame in a real browser: instruments, shortcuts, colours, the keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Axed

pytestmark = pytest.mark.e2e

BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def test_the_calculator_answers_while_the_slider_moves(page: Page, axed: Axed) -> None:
    page.goto("/")
    reading = page.locator("#home-kv-reading .value")
    expect(reading).to_have_text("4.295")
    page.get_by_label("Tokens in the context").press("End")
    expect(page.locator("output[for=home-kv-tokens]")).to_have_text("131\u202f072")
    expect(reading).to_have_text("17.18")
    assert page.url.endswith("/"), "the home page keeps its own address"
    page.get_by_label("Stored as").select_option("fp8")
    expect(reading).to_have_text("8.59")
    axed(page)


def test_the_days_question_is_answered_right_there(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Your answer").fill("A token is a piece of text that the tokenizer's vocabulary lists.")
    page.get_by_role("button", name="Check my answer").click()
    page.wait_for_url("**/practice/attempts/*/")
    expect(page.get_by_text("A token is a piece of text")).to_be_visible()


def test_your_own_words_reach_the_model(page: Page) -> None:
    page.goto("/")
    page.get_by_role("textbox", name="Your own words").fill("The cache grows")
    page.get_by_role("button", name="Run your words").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("The cache grows")


def test_a_slash_searches_and_the_skip_link_comes_first(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("/")
    search = page.get_by_role("searchbox", name="Search questions")
    expect(search).to_be_focused()
    search.fill("temperature")
    search.press("Enter")
    expect(page.get_by_role("link", name="difference between temperature and top-p")).to_be_visible()


def test_a_chosen_theme_stays_and_system_follows_the_system(page: Page) -> None:
    page.goto("/")
    system = page.evaluate(BACKGROUND)
    other = "Dark" if system == "rgb(251, 250, 246)" else "Light"
    page.get_by_text(other, exact=True).click()
    chosen = page.evaluate(BACKGROUND)
    assert {system, chosen} == {"rgb(251, 250, 246)", "rgb(21, 20, 18)"}
    page.goto("/questions/")
    assert page.evaluate(BACKGROUND) == chosen
    expect(page.get_by_label(other)).to_be_checked()
    page.get_by_text("System", exact=True).click()
    assert page.evaluate(BACKGROUND) == system


def test_the_four_nouns_lead_to_their_rooms(page: Page, axed: Axed) -> None:
    page.goto("/")
    for noun in ("Practise", "Calculate", "Playground", "Teach"):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=noun).click()
        expect(page.get_by_role("navigation", name="Main").get_by_role("link", name=noun)).to_have_attribute(
            "aria-current", "true"
        )
        axed(page)
