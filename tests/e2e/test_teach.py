"""Journey 3 in a real browser: a teacher and two learners, from sign-up to exported grades.

With SCREENSHOTS=docs/screenshots it also makes the pictures of docs/teaching.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Axed, Site, note

pytestmark = pytest.mark.e2e
PASSWORD = "correct horse battery staple"
ANSWER = (
    "The KV cache stores keys and values for every token in every layer, so its memory grows linearly with the "
    "number of tokens, and in prefill attention compares every token with every other, which is quadratic."
)


@pytest.fixture
def people(browser: Browser, site: Site) -> Iterator[dict[str, Page]]:
    """A teacher at a desk, a learner at a desk and one on a phone; a console error of any of them fails the test."""
    pages, troubles = {}, []  # type: dict[str, Page], list[str]
    looks = {"teacher": (1280, "light"), "lena": (1280, "light"), "milo": (360, "dark")}
    for name, (width, scheme) in looks.items():
        context = browser.new_context(
            base_url=site.url,
            viewport={"width": width, "height": 800},
            color_scheme=scheme,  # type: ignore[arg-type]
            reduced_motion="reduce",
        )
        pages[name] = context.new_page()
        pages[name].on("console", lambda message: note(troubles, message))
        pages[name].on("pageerror", lambda error: troubles.append(f"page error: {error}"))
    yield pages
    for page in pages.values():
        page.context.close()
    assert not troubles, troubles


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=str(Path(folder) / f"teaching-{name}.png"))


def sign_up(page: Page, name: str) -> None:
    page.get_by_label("E-mail").fill(f"{name.split()[0].lower()}@class.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Name").fill(name)
    page.locator("form.stack button.primary").click()


def make_class(page: Page) -> str:
    """From sign-up to a class; its join link."""
    page.goto("/classes/")
    page.get_by_role("link", name="Make a class").click()
    sign_up(page, "Tara Teacher")
    page.get_by_label("Name", exact=True).fill("Serving models")
    page.get_by_role("button", name="Make the class").click()
    expect(page.get_by_role("heading", name="Join by a link")).to_be_visible()
    return page.locator("[id^=link-]").first.inner_text()


def assign(page: Page) -> None:
    """A set of two questions, given to the class."""
    page.goto("/sets/new/")
    page.get_by_label("Title").fill("Long context")
    page.get_by_role("button", name="Make the set").click()
    page.get_by_role("searchbox", name="Words").fill("long context expensive")
    page.get_by_role("button", name="Narrow").click()
    page.get_by_role("checkbox", name="Why is long context expensive?").check()
    page.get_by_role("button", name="Add the ticked questions").click()
    page.goto(page.url.partition("?")[0].partition("#")[0])
    page.locator("#picker input[type=checkbox]:not([disabled])").first.check()
    page.get_by_role("button", name="Add the ticked questions").click()
    page.get_by_label("Points").first.fill("3")
    page.get_by_role("button", name="Save the list").click()
    expect(page.get_by_text("4 points")).to_be_visible()
    picture(page, "set")
    page.get_by_role("link", name="Serving models").click()
    expect(page.get_by_label("Question set", exact=True).locator("option:checked")).to_have_text(
        "Long context"
    )
    page.get_by_label("Learners see", exact=True).select_option("full")
    page.get_by_role("button", name="Assign it").click()
    expect(page.get_by_role("heading", name="Who is where")).to_be_visible()


def join(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_role("link", name="Make an account").click()
    sign_up(page, name)
    page.get_by_role("button", name="Join the class").click()
    expect(page.get_by_text("You are in Serving models.")).to_be_visible()


def start(page: Page) -> None:
    page.get_by_role("link", name="Long context").click()
    page.get_by_role("button", name="Start").click()


def test_a_teacher_and_two_learners(people: dict[str, Page], axed: Axed) -> None:
    teacher, lena, milo = people["teacher"], people["lena"], people["milo"]
    link = make_class(teacher)
    axed(teacher)
    join(lena, link, "Lena Learner")
    join(milo, link, "Milo =1+1")
    milo.goto(link)
    milo.get_by_role("button", name="Join the class").click()
    expect(milo.get_by_text("You are already in Serving models.")).to_be_visible()
    assign(teacher)
    axed(teacher)

    lena.reload()
    start(lena)
    lena.get_by_label("Your answer").fill(ANSWER)
    expect(lena.locator("[data-draft-status]")).to_have_text(re.compile(r"^saved \d\d:\d\d"))
    lena.reload()
    expect(lena.get_by_label("Your answer")).to_have_value(ANSWER)
    axed(lena)
    picture(lena, "work")
    lena.get_by_role("button", name="Flag for later").click()
    lena.get_by_role("button", name="Save and go on").click()
    lena.get_by_label("Your answer").fill("I am not sure.")
    lena.locator(".answer-bar").get_by_role("button", name="Look over and hand in").click()
    expect(lena.get_by_text("flagged")).to_be_visible()
    axed(lena)
    lena.get_by_role("button", name="Hand in").click()
    expect(lena.get_by_role("heading", name="Handed in", exact=True)).to_be_visible()
    expect(lena.locator("#receipt")).to_have_text(re.compile("^[0-9a-f]{64}$"))
    axed(lena)
    lena.get_by_role("link", name="Feedback").click()
    expect(lena.get_by_text(re.compile(r"of 4 points"))).to_be_visible(timeout=20_000)
    axed(lena)
    picture(lena, "feedback")

    milo.reload()
    start(milo)
    milo.get_by_label("Your answer").fill("<img src=x onerror=alert(1)> memory grows")
    milo.get_by_role("button", name="Look over and hand in").last.click()
    axed(milo)
    milo.get_by_role("button", name="Hand in").click()
    milo.get_by_role("link", name="Feedback").click()
    expect(milo.get_by_text(re.compile(r"of 4 points"))).to_be_visible(timeout=20_000)
    axed(milo)

    grade(teacher, axed)
    lena.reload()
    expect(lena.get_by_text("Your teacher: A good example in class.")).to_be_visible()


def grade(teacher: Page, axed: Axed) -> None:
    """From the gradebook to one answer and back, then the files."""
    teacher.get_by_role("link", name="Gradebook", exact=True).last.click()
    expect(teacher.get_by_role("rowheader", name="Lena Learner")).to_be_visible()
    axed(teacher)
    teacher.locator("tbody tr", has_text="Lena").locator("td a").nth(1).click()
    axed(teacher)
    teacher.get_by_label("Points for the whole answer").fill("1")
    teacher.get_by_label("Reason").first.fill("A good example in class.")
    teacher.get_by_role("button", name="Set these points").click()
    expect(teacher.get_by_text("graded by a teacher").first).to_be_visible()
    picture(teacher, "answer")
    teacher.get_by_role("link", name="Long context").first.click()
    expect(teacher.get_by_role("link", name="1*")).to_be_visible()
    picture(teacher, "gradebook")
    with teacher.expect_download() as csv:
        teacher.get_by_role("link", name="Scores, CSV").click()
    text = Path(csv.value.path()).read_bytes()
    assert text.startswith(b"\xef\xbb\xbf") and b"Lena Learner" in text and b"assessed" in text
    with teacher.expect_download() as xlsx:
        teacher.get_by_role("link", name="Scores, Excel").click()
    assert Path(xlsx.value.path()).read_bytes().startswith(b"PK")
    teacher.get_by_role("link", name="Insight").click()
    expect(teacher.get_by_role("heading", name="For the next lesson")).to_be_visible()
    axed(teacher)
    picture(teacher, "insight")
