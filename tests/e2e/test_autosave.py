"""No keystroke is lost: while a save is on its way, offline, by the back button, in a lost session, by two submits."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.e2e.conftest import Site

pytestmark = pytest.mark.e2e
QUESTION = "/questions/why-is-long-context-expensive/"
SAVED = re.compile(r"^saved \d\d:\d\d")


@pytest.fixture
def tab(browser: Browser, site: Site) -> Iterator[Page]:
    """A visitor whose network may fail: what the browser then says on its console is no fault of the page."""
    context = browser.new_context(base_url=site.url, reduced_motion="reduce")
    page = context.new_page()
    page.goto(QUESTION)
    yield page
    context.close()


def box(page: Page) -> Locator:
    return page.get_by_label("Your answer", exact=True)


def stored(page: Page) -> str:
    """What the server holds: the browser's own copy is thrown away first."""
    page.evaluate("localStorage.clear()")
    page.reload()
    return str(box(page).input_value())


def test_what_is_typed_while_a_save_is_on_its_way_is_saved_next(tab: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    tab.route("**/draft/", hold)
    box(tab).fill("foo")
    tab.wait_for_timeout(1_800)
    assert held
    box(tab).press_sequentially("bar")
    expect(tab.locator("[data-draft-status]")).to_have_text("not saved yet")
    held[0].continue_()
    expect(tab.locator("[data-draft-status]")).to_have_text(SAVED, timeout=10_000)
    assert stored(tab) == "foobar"


def test_offline_text_is_saved_when_the_network_is_back(tab: Page) -> None:
    tab.context.set_offline(True)
    box(tab).fill("written in a tunnel")
    expect(tab.locator("[data-draft-status]")).to_have_text(re.compile("offline"), timeout=10_000)
    tab.context.set_offline(False)
    expect(tab.locator("[data-draft-status]")).to_have_text(SAVED, timeout=15_000)
    assert stored(tab) == "written in a tunnel"


def test_the_back_button_keeps_the_text(tab: Page) -> None:
    box(tab).fill("left in the middle of a")
    tab.get_by_role("link", name="Practise").first.click()
    expect(tab.get_by_role("heading", level=1, name="Practise")).to_be_visible()
    tab.go_back()
    expect(box(tab)).to_have_value("left in the middle of a")


def test_a_session_that_ended_keeps_the_text(tab: Page) -> None:
    box(tab).fill("sent after the session was gone")
    tab.context.clear_cookies()
    tab.get_by_role("button", name="Check my answer").click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("expired")
    tab.goto(QUESTION)
    expect(box(tab)).to_have_value("sent after the session was gone")


def test_two_submits_make_one_attempt(tab: Page) -> None:
    box(tab).fill("The cache grows linearly with every token.")
    tab.evaluate(
        "() => { const form = document.querySelector('form[data-draft]'); form.requestSubmit(); form.requestSubmit(); }"
    )
    expect(tab.locator("#score")).to_be_visible(timeout=20_000)
    tab.goto("/practice/progress/")
    expect(
        tab.get_by_role("row", name=re.compile("Why is long context expensive")).get_by_role("cell").first
    ).to_have_text("1")
