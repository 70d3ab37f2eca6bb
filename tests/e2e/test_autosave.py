"""No keystroke is lost: while a save is on its way, offline, by the back button, in a lost session, by two submits."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.conftest import PASSWORD
from tests.e2e.conftest import Site
from tests.e2e.test_faults import workers

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


def test_leaving_while_a_save_is_on_its_way_is_no_other_window(tab: Page) -> None:
    held: list[Route] = []
    tab.route("**/draft/", lambda route: held.append(route) if len(held) < 2 else route.continue_())
    box(tab).fill("foo")
    tab.wait_for_timeout(1_800)
    box(tab).press_sequentially("bar")
    tab.evaluate(
        "Object.defineProperty(document, 'hidden', { value: true, configurable: true });"
        "document.dispatchEvent(new Event('visibilitychange'));"
        "delete document.hidden"
    )
    tab.wait_for_timeout(200)
    assert len(held) == 2
    for route in held:
        with tab.expect_response("**/draft/") as answer:
            route.continue_()
        assert answer.value.ok
    expect(tab.locator("[data-draft-status]")).to_have_text(SAVED, timeout=10_000)
    expect(tab.locator("[data-draft-conflict]")).to_be_hidden()
    assert stored(tab) == "foobar"


def test_text_that_never_arrived_is_shown_beside_a_newer_one_from_elsewhere(tab: Page) -> None:
    box(tab).fill("begun")
    expect(tab.locator("[data-draft-status]")).to_have_text(SAVED, timeout=10_000)
    tab.route("**/draft/", lambda route: route.abort())
    box(tab).fill("begun, and went on in a tunnel")
    expect(tab.locator("[data-draft-status]")).to_have_text(re.compile("offline"), timeout=10_000)
    tab.unroute("**/draft/")
    token = tab.locator("form[data-draft] [name=csrfmiddlewaretoken]").input_value()
    data: dict[str, str | float | bool] = {
        "text": "from the phone",
        "revision": "9",
        "csrfmiddlewaretoken": token,
    }
    assert tab.request.post(f"{QUESTION}draft/", form=data, headers={"Referer": tab.url}).ok
    tab.evaluate("window.stop()")
    tab.reload()
    expect(tab.locator("[data-draft-conflict]")).to_be_visible()
    expect(box(tab)).to_have_value("begun, and went on in a tunnel")
    tab.get_by_role("button", name="Show that text").click()
    expect(box(tab)).to_have_value("from the phone")


def test_an_accounts_text_waits_for_that_account(tab: Page) -> None:
    email = f"kept-{uuid.uuid4().hex[:8]}@example.org"
    tab.goto(f"/account/sign-up/?next={QUESTION}")
    tab.get_by_label("E-mail").fill(email)
    tab.locator("input[name=password]").fill(PASSWORD)
    tab.locator("main button[type=submit]").click()
    tab.route("**/draft/", lambda route: route.abort())
    box(tab).fill("for my eyes only")
    tab.context.clear_cookies()
    tab.goto(QUESTION)
    expect(box(tab)).to_have_value("")
    expect(tab.locator("[data-draft-status]")).to_contain_text("comes back after signing in")
    tab.goto(f"/account/sign-in/?next={QUESTION}")
    tab.get_by_label("E-mail").fill(email)
    tab.locator("input[name=password]").fill(PASSWORD)
    tab.locator("main button[type=submit]").click()
    expect(box(tab)).to_have_value("for my eyes only")


def test_the_front_doors_box_keeps_its_text_too(tab: Page) -> None:
    tab.goto("/")
    box(tab).fill("Half of my answer")
    tab.reload()
    expect(box(tab)).to_have_value("Half of my answer")
    tab.get_by_role("link", name="Read the whole question").click()
    expect(box(tab)).to_have_value("Half of my answer")


def test_a_follow_up_being_written_survives_the_verdict_on_another(tab: Page, site: Site) -> None:
    box(tab).fill("I would have to look that up first, sorry.")
    tab.get_by_role("button", name="Check my answer").click()
    follow_up = tab.get_by_label("Your answer to the follow-up")
    follow_up.fill("Memory, I think.")
    worker = workers(site)[0]
    worker.suspend()
    try:
        tab.get_by_role("button", name="Answer the follow-up").click()
        tab.wait_for_url("**#followup-*")
        follow_up.fill("The second one, half written")
    finally:
        worker.resume()
    expect(tab.locator("section.card .points")).to_be_visible(timeout=20_000)
    expect(follow_up).to_have_value("The second one, half written")
    expect(follow_up).to_be_focused()
    expect(tab.locator("#verdict-spoken")).to_contain_text("Follow-up:")
    tab.reload()
    expect(follow_up).to_have_value("The second one, half written")


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
