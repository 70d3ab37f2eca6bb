"""LTI 1.3 in a real browser, with a platform of the test's own and real keys: register, choose content, do, get the score."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.conftest import Axed, Site, note
from tests.interview.lti.platform import CLIENT, DEPLOYMENT
from tests.interview.lti.platform_pages import PlatformWithPages

pytestmark = pytest.mark.e2e
ANSWER = (
    "The cache holds keys and values of every token in every layer, so memory grows linearly with the tokens."
)
SCORE_SECONDS = 150  # graded, then within the minute of the chore


@pytest.fixture
def platform(site: Site) -> Iterator[PlatformWithPages]:
    """The platform; it reads the tool's keys over HTTP, as others do."""
    running = PlatformWithPages(lambda: httpx.get(f"{site.url}/lti/keys.json").json())
    yield running
    running.stop()


@pytest.fixture
def made(site: Site) -> dict[str, Any]:
    """A class with an assignment whose feedback comes at once, and its owner's session."""
    code = "from tests.e2e import class_with_everything; print(class_with_everything.one_assignment())"
    found: dict[str, Any] = json.loads(site.manage("shell", "-v0", "-c", code).strip().splitlines()[-1])
    return found


@pytest.fixture
def troubles() -> Iterator[list[str]]:
    found: list[str] = []
    yield found
    assert not found, found


def visitor(
    browser: Browser, site: Site, width: int, scheme: Any, troubles: list[str]
) -> tuple[BrowserContext, Page]:
    context = browser.new_context(
        base_url=site.url,
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    tab = context.new_page()
    tab.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
    tab.on("console", lambda message: note(troubles, message))
    return context, tab


def register(tab: Page, platform: PlatformWithPages, axed: Axed) -> None:
    """The class's owner registers the platform; both sides paste what the other shows."""
    tab.goto("/lti/platforms/new/")
    axed(tab)
    tab.get_by_label("Name").fill("Our school")
    tab.get_by_label("What it is").select_option("other")
    tab.get_by_label("Its address").fill(platform.url)
    tab.get_by_role("button", name="Go on").click()
    platform.login_url = tab.locator("#a-login").inner_text()
    tab.get_by_label("Client id").fill(CLIENT)
    tab.get_by_label("Deployment ids").fill(DEPLOYMENT)
    for label, path in (
        ("Authentication request URL", "auth"),
        ("Access token URL", "token"),
        ("Public key set URL", "keys"),
    ):
        tab.get_by_label(label).fill(f"{platform.url}/{path}")
    tab.get_by_role("button", name="Save").click()
    axed(tab)


def choose(tab: Page, platform: PlatformWithPages, axed: Axed, made: dict[str, Any]) -> None:
    """From the course's content chooser through account, class and assignment, and back to the course."""
    tab.goto(f"{platform.url}/course?as=teacher-1")
    tab.get_by_role("button", name="Choose content").click()
    tab.get_by_role("button", name="Go on to the tool").click()
    expect(tab.get_by_role("heading", name="Which account?")).to_be_visible()
    axed(tab)
    tab.get_by_role("button", name="Link ").click()
    expect(tab.get_by_role("heading", name="Which class is Serving models 2026?")).to_be_visible()
    axed(tab)
    tab.get_by_label(made["class"]).check()
    tab.get_by_role("button", name="Go on").click()
    expect(tab.get_by_role("heading", name="Put an assignment into the course")).to_be_visible()
    axed(tab)
    tab.get_by_label("Week one").check()
    tab.get_by_role("button", name="Go on").click()
    axed(tab)
    tab.get_by_role("button", name="Put it into Serving models 2026").click()
    expect(tab.get_by_role("heading", name="Added: Week one")).to_be_visible()


def do(tab: Page, platform: PlatformWithPages, axed: Axed) -> None:
    """A learner clicks the link in the course and is at the assignment, without an account made by hand."""
    tab.goto(f"{platform.url}/course?as=learner-1")
    tab.get_by_role("button", name="Week one").click()
    tab.get_by_role("button", name="Go on to the tool").click()
    expect(tab.get_by_role("heading", name="Week one")).to_be_visible()
    axed(tab)
    tab.get_by_role("button", name="Start").click()
    tab.get_by_label("Your answer").fill(ANSWER)
    tab.get_by_role("button", name="Look over and hand in").last.click()
    tab.get_by_role("button", name="Hand in").click()
    expect(tab.get_by_role("heading", name="Handed in", exact=True)).to_be_visible()


def score(platform: PlatformWithPages) -> dict[str, Any]:
    """The score that the platform was sent, with a token it had given out for a signed assertion."""
    ended = time.monotonic() + SCORE_SECONDS
    while not platform.scores:
        assert time.monotonic() < ended, "no score came back"
        time.sleep(0.5)
    return platform.scores[-1]


def test_from_a_course_to_its_gradebook(
    browser: Browser,
    site: Site,
    platform: PlatformWithPages,
    made: dict[str, Any],
    axed: Axed,
    troubles: list[str],
) -> None:
    desk, teacher = visitor(browser, site, 1280, "light", troubles)
    desk.add_cookies([{"name": "sessionid", "value": made["session"], "url": site.url}])
    register(teacher, platform, axed)
    choose(teacher, platform, axed, made)
    phone, learner = visitor(browser, site, 360, "dark", troubles)
    do(learner, platform, axed)
    sent = score(platform)
    assert (sent["userId"], sent["scoreMaximum"], sent["gradingProgress"]) == ("learner-1", 1, "FullyGraded")
    assert 0 <= sent["scoreGiven"] <= 1 and platform.assertions[-1]["iss"] == CLIENT
    teacher.goto(f"/classes/{made['class_id']}/lms/")
    expect(teacher.get_by_text("1 score returned")).to_be_visible()
    axed(teacher)
    desk.close()
    phone.close()
