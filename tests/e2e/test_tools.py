"""Tools in a real browser: the model proposes a refund, its user confirms, the ledger says so, the trace holds it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Axed

pytestmark = pytest.mark.e2e


def test_a_refund_is_proposed_confirmed_and_read_back(page: Page, axed: Axed) -> None:
    page.goto("/playground/tools/")
    axed(page)
    page.get_by_label("Unit converter").uncheck()
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".status.is-done")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("region", name="Ledger", exact=True)).to_contain_text("AB-3456")
    axed(page)
    confirm = page.get_by_role("button", name="Confirm")
    if confirm.count() == 0:
        # The model may answer instead of calling, or ask for what is refused: then nothing may have happened.
        expect(page.get_by_role("region", name="Ledger", exact=True)).not_to_contain_text("1 250")
        return
    confirm.click()
    expect(page.get_by_text("Goes on from")).to_be_visible(timeout=60_000)
    expect(page.locator(".status.is-done")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="an earlier run").click()
    expect(page.get_by_text("Read back from the ledger")).to_be_visible()
