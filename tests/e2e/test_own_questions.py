"""Own questions in a real browser: written, tried on the real grader, saved, practised."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import PASSWORD
from tests.e2e.conftest import Axed

pytestmark = pytest.mark.e2e


def test_an_own_question(page: Page, axed: Axed) -> None:
    page.goto("/account/sign-up/?next=/questions/own/new/")
    page.get_by_label("E-mail").fill(f"own-{uuid.uuid4().hex[:8]}@example.org")
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("main button[type=submit]").click()
    expect(page.get_by_role("heading", level=1, name="Write a question")).to_be_visible()
    axed(page)
    page.locator("#id_q-prompt").fill("Why does the KV cache grow?")
    page.get_by_label("Reference answer").fill(
        "Every token adds a key and a value in each layer. So the cache grows linearly with the context."
    )
    page.locator("#id_samples-0-text").fill("The KV cache does not grow with the context.")
    page.locator("#id_samples-0-label").select_option("contradictory")
    page.get_by_role("button", name="Try the samples").click()
    table = page.get_by_role("table", name=re.compile("Verdicts on 2 answers"))
    expect(table).to_be_visible(timeout=15_000)
    expect(table.get_by_role("row").nth(2)).to_contain_text("correct")
    axed(page)
    expect(page.locator("#id_q-prompt")).to_have_value("Why does the KV cache grow?")
    page.get_by_role("button", name="Save").last.click()
    expect(page.locator("#id_points-1-means")).to_have_value("So the cache grows linearly with the context.")
    page.get_by_role("link", name="Practise it").click()
    page.get_by_label("Your answer", exact=True).fill("The cache grows linearly with the context.")
    page.get_by_role("button", name="Check my answer").click()
    expect(page.locator("#score")).to_contain_text(re.compile(r"\d of 2"), timeout=15_000)
    axed(page)
