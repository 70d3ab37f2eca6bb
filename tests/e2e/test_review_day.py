"""A review day in a real browser, by keyboard: answered yesterday, due today, rated, and on to the next."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Axed, Site

pytestmark = pytest.mark.e2e

A_DAY_PASSES = (
    "from datetime import timedelta; from django.db.models import F; "
    "from interview.practice.models import Review, ReviewCard; "
    "day = timedelta(days=1); "
    "ReviewCard.objects.update(due_on=F('due_on') - day); Review.objects.update(day=F('day') - day)"
)
QUESTIONS = ("why-is-long-context-expensive", "what-is-a-token")


def answer(page: Page, text: str) -> None:
    page.get_by_label("Your answer", exact=True).fill(text)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#score")).to_contain_text(re.compile(r"\d of \d"), timeout=15_000)


def test_a_review_day(page: Page, axed: Axed, site: Site) -> None:
    for question in QUESTIONS:
        page.goto(f"/questions/{question}/")
        answer(page, "I would have to look that up first, sorry.")
    # A verdict that was there before the page takes the focus too, when one comes from the question.
    assessed = page.url
    page.goto(f"/questions/{QUESTIONS[-1]}/")
    page.evaluate("address => location.assign(address)", assessed)
    expect(page.locator("#score")).to_be_focused()
    page.goto("/practice/")
    expect(page.get_by_role("heading", name="Nothing is due")).to_be_visible()
    site.manage("shell", "-c", A_DAY_PASSES)
    page.reload()
    expect(page.get_by_role("link", name="Review 2 questions")).to_be_visible()
    expect(page.get_by_text("1 day in a row")).to_be_visible()
    axed(page)
    page.keyboard.press("n")
    answer(
        page,
        "The KV cache stores keys and values for every token in every layer, so its memory grows linearly with the "
        "number of tokens.",
    )
    expect(page.locator("#score")).to_be_focused()
    expect(page.locator("#verdict-spoken")).to_contain_text("Assessed.")
    axed(page)
    page.keyboard.press("r")
    expect(page.get_by_text("Two different costs grow")).to_be_visible()
    page.keyboard.press("4")
    expect(page.get_by_role("button", name="Easy")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("token", re.I))
    page.goto("/practice/")
    expect(page.get_by_role("link", name="Review 1 question")).to_be_visible()
    expect(page.get_by_text("2 days in a row")).to_be_visible()
