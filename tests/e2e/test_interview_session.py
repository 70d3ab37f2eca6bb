"""A whole interview session in a real browser: planned, answered, followed up, reported, shared."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Axed

pytestmark = pytest.mark.e2e


def test_an_interview_session(page: Page, axed: Axed) -> None:
    page.goto("/practice/sessions/")
    axed(page)
    page.get_by_label("Questions", exact=True).fill("2")
    page.get_by_label("Minutes a question").fill("1")
    page.get_by_text("Topics all of them").click()
    page.get_by_label("The KV cache").check()
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_text(re.compile("Question 1 of 2"))).to_be_visible()
    expect(page.locator("[data-timer]")).to_have_text(re.compile(r"^0:5\d$"))
    axed(page)
    box = page.get_by_label("Your answer", exact=True)
    box.fill("The cache keeps things for each token.")
    expect(page.locator("[data-draft-status]")).to_have_text(re.compile("^saved"))
    page.reload()
    expect(box).to_have_value("The cache keeps things for each token.")
    page.keyboard.press("Tab")
    box.focus()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text(re.compile("^Follow-up 1"))).to_be_visible(timeout=15_000)
    axed(page)
    probe = page.get_by_label("Your answer", exact=True)
    probe.fill("Keys and values stay for every layer")
    page.reload()
    expect(probe).to_have_value("Keys and values stay for every layer")
    with page.expect_navigation():
        page.get_by_role("button", name="Answer", exact=True).click()
    while page.get_by_text(re.compile("Question 1 of 2")).is_visible():
        with page.expect_navigation():
            page.get_by_role("button", name="I don’t know").click()
    expect(page.get_by_text(re.compile("Question 2 of 2"))).to_be_visible()
    expect(page.get_by_label("Your answer", exact=True)).to_have_value("")
    page.get_by_role("button", name="Skip this question").click()
    expect(page.get_by_text("1 of 2 questions answered")).to_be_visible()
    axed(page)
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("Private link").input_value()
    axed(page)
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Revoke the link")).to_be_hidden()
    page.emulate_media(media="screen")
    page.context.clear_cookies()
    page.goto(link)
    expect(page.get_by_role("heading", name="By question")).to_be_visible()
    assert "keeps things for each token" not in page.content()
    axed(page)
