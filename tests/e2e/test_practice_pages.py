"""Pages around the grader, for accounts: dispute, quality, review, progress, own questions and their import."""

from __future__ import annotations

import uuid

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.conftest import PASSWORD
from tests.e2e.conftest import Axed, Site

pytestmark = pytest.mark.e2e
QUESTION = "/questions/what-is-a-token/"
BAD_ROWS = "question,reference,level\nWhy?,Because it is so.,mid\nHow?,So it is.,expert\n"
GOOD_ROWS = "question,reference\nWhy does the cache grow?,Every token leaves a key and a value behind.\n"


@pytest.fixture
def account(page: Page) -> str:
    """The address of somebody who has just signed up."""
    email = f"pages-{uuid.uuid4().hex[:8]}@example.org"
    page.goto("/account/sign-up/")
    page.get_by_label("E-mail").fill(email)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("main button[type=submit]").click()
    page.wait_for_url(lambda url: "sign-up" not in url)
    return email


def test_a_verdict_and_what_follows_from_it(page: Page, axed: Axed, site: Site, account: str) -> None:
    page.goto(QUESTION)
    page.get_by_label("Your answer", exact=True).fill("A token is the same thing as a word.")
    page.get_by_role("button", name="Check my answer").click()
    expect(page.locator("#score")).to_be_visible(timeout=20_000)
    page.get_by_text("This verdict is wrong", exact=True).click()
    page.get_by_label("What did the grader miss").fill("I meant pieces of words.")
    axed(page)
    page.get_by_role("button", name="Mark it for review").click()
    expect(page.get_by_text("It needs review")).to_be_visible()
    axed(page)
    staff = (
        "from interview.accounts.models import User; User.objects.filter(email='{}').update(is_staff=True)"
    )
    site.manage("shell", "-c", staff.format(account))
    page.goto("/practice/disputes/")
    axed(page)
    page.get_by_role("link", name="What is a token").first.click()
    expect(page.get_by_role("heading", name="What the learner says")).to_be_visible()
    axed(page)
    for address in (
        "/practice/quality/",
        "/practice/",
        "/practice/progress/",
        "/practice/history/what-is-a-token/",
    ):
        page.goto(address)
        axed(page)


def look_at(tab: Page, rows: str) -> None:
    tab.get_by_label("Or its text").fill("")
    file: FilePayload = {"name": "q.csv", "mimeType": "text/csv", "buffer": rows.encode()}
    tab.get_by_label("File", exact=True).set_input_files(file)
    tab.get_by_role("button", name="Look at it").click()


def test_own_questions_come_in_and_are_kept(page: Page, axed: Axed, account: str) -> None:
    # A refused file is a 422, which a browser says on its console: this tab's isn't watched.
    tab = page.context.new_page()
    tab.goto("/questions/own/")
    axed(tab)
    tab.get_by_role("link", name="Import", exact=True).click()
    look_at(tab, BAD_ROWS)
    expect(tab.get_by_role("cell", name="wrong")).to_be_visible()
    axed(tab)
    look_at(tab, GOOD_ROWS)
    expect(tab.get_by_role("button", name="Import 1 question")).to_be_visible()
    axed(tab)
    tab.get_by_role("button", name="Import 1 question").click()
    expect(tab.get_by_text("Imported: 1 new")).to_be_visible()
    axed(tab)
    tab.get_by_role("link", name="Why does the cache grow?").first.click()
    axed(tab)
    tab.get_by_role("link", name="Remove it").click()
    axed(tab)
