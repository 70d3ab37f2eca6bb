"""Documents in a real browser: upload, ask, follow a citation to its page, see an abstention."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from engine.adapters import SHIPPED
from tests.e2e.conftest import Axed
from tests.interview.documents import files

pytestmark = pytest.mark.e2e


def ask(page: Page, question: str) -> None:
    page.goto("/documents/ask/")
    page.get_by_label("Question", exact=True).fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".status.is-done")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("heading", name="Nearest passages")).to_be_visible()


def test_upload_ask_follow_a_citation_and_see_an_abstention(page: Page, axed: Axed, tmp_path: Path) -> None:
    for name, body in {
        "handbook.pdf": files.pdf(["Contents of the handbook.", files.LIGHTHOUSE]),
        "scan.pdf": files.scanned_pdf(),
        "empty.txt": b"",
    }.items():
        (tmp_path / name).write_bytes(body)
    page.goto("/documents/")
    axed(page)
    page.get_by_label("Add files").set_input_files(sorted(tmp_path.iterdir()))
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("The file is empty: it has 0 bytes.")).to_be_visible(timeout=20_000)
    expect(page.locator(".documents .status.is-done")).to_have_count(1, timeout=60_000)
    expect(page.locator(".documents .status.is-failed")).to_contain_text("It holds no text", timeout=60_000)
    axed(page)
    ask(page, "When was the lighthouse at Marrow Point built?")
    axed(page)
    cited = (
        page.locator("a.cite") if (SHIPPED / "answerability").is_dir() else page.locator("#passage-1 a.title")
    )
    cited.first.click()
    expect(page.locator("mark#cited").first).to_contain_text("1871")
    expect(page.get_by_role("heading", name="Page 2")).to_be_visible()
    axed(page)
    ask(page, "Which football club won the Peruvian league in 1998?")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(page.get_by_text("Decided by the gate")).to_be_visible()
    axed(page)
