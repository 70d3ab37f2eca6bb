"""The life of an account in a browser: from a guest's first words to deleting everything."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Axed, Site, keep_picture

pytestmark = pytest.mark.e2e
STRONG = "a long unusual sentence"
QUESTION = "/questions/why-is-long-context-expensive/"


@pytest.fixture
def email(request: pytest.FixtureRequest) -> str:
    """An address of its own for each test and window size."""
    name = "".join(character for character in request.node.name if character.isalnum())
    return f"{name}@example.org".lower()


def look(page: Page, axed: Axed, name: str) -> None:
    """Check a page with axe and keep a picture of it."""
    axed(page)
    width = page.viewport_size["width"] if page.viewport_size else 0
    keep_picture(page, f"account-{name}-{width}")


def fill_door(page: Page, email: str, button: str) -> None:
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(STRONG)
    page.get_by_role("button", name=button).click()


def sign_up(page: Page, email: str) -> None:
    page.goto("/account/sign-up/")
    fill_door(page, email, "Create the account")
    expect(page.get_by_text("Your account is ready.")).to_be_visible()


def test_from_guest_to_account_and_out_again(page: Page, axed: Axed, site: Site, email: str) -> None:
    page.goto("/account/")
    look(page, axed, "visitor")
    page.goto(QUESTION)
    page.get_by_label("Your answer").fill("Begun as a guest")
    expect(page.locator("[data-draft-status]")).to_have_text(re.compile("^saved"))
    page.goto("/account/")
    look(page, axed, "guest")

    page.get_by_role("link", name="Sign up").click()
    look(page, axed, "sign-up")
    fill_door(page, email, "Create the account")
    expect(page.get_by_text("What you did before signing up is in it.")).to_be_visible()
    page.goto(QUESTION)
    expect(page.get_by_label("Your answer")).to_have_value("Begun as a guest")

    page.goto("/account/")
    expect(page.get_by_label("Time zone")).to_have_value("UTC")
    look(page, axed, "profile")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    page.goto("/account/sign-in/?next=/account/tokens/")
    look(page, axed, "sign-in")
    fill_door(page, email, "Sign in")
    look(page, axed, "tokens-none")

    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Make a token").click()
    secret = page.locator("#secret").inner_text()
    page.get_by_role("button", name="Copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    look(page, axed, "tokens-new")
    me = httpx.get(f"{site.url}/api/v1/me", headers={"Authorization": f"Bearer {secret}"})
    assert me.json()["email"] == email
    page.goto("/account/tokens/")
    expect(page.get_by_text("never used")).to_have_count(0)
    page.get_by_role("button", name="Revoke laptop").click()
    expect(page.get_by_text("The token is revoked.")).to_be_visible()
    assert httpx.get(me.request.url, headers=me.request.headers).status_code == 401

    page.goto("/account/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download everything").click()
    exported = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert exported["rows"]["practice.draft"][0]["text"] == "Begun as a guest"
    assert download.value.suggested_filename.startswith("prefill-")

    page.get_by_role("link", name="Delete everything").click()
    look(page, axed, "delete")
    page.get_by_label(f"Type {email} to confirm").fill(email)
    page.get_by_role("button", name="Delete everything").click()
    expect(page.get_by_text("Everything you had here is deleted.")).to_be_visible()
    page.goto(QUESTION)
    page.goto("/account/")
    expect(page.get_by_text("Nothing of yours is kept yet.")).to_be_visible()


def test_a_form_sent_after_the_session_was_lost_is_sent_again(page: Page, axed: Axed, email: str) -> None:
    sign_up(page, email)
    page.goto("/account/")
    page.get_by_label("Name").fill("A name typed slowly")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("You were signed out while you were typing.")).to_be_visible()
    look(page, axed, "sign-in-after-typing")
    fill_door(page, email, "Sign in")
    expect(page.get_by_label("Name")).to_have_value("A name typed slowly")
    look(page, axed, "typed")
    page.get_by_role("button", name="Send it again").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("A name typed slowly")


def test_every_other_page(page: Page, axed: Axed, email: str) -> None:
    page.goto("/account/password/reset/")
    look(page, axed, "password-reset")
    page.get_by_label("E-mail").fill(email)
    page.get_by_role("button", name="Send the letter").click()
    expect(page.get_by_role("heading", name="Look into your mail")).to_be_visible()
    look(page, axed, "password-reset-done")
    for path, name in (
        ("/account/password/reset/x/y/", "password-reset-link-old"),
        ("/account/password/reset/complete/", "password-reset-complete"),
    ):
        page.goto(path)
        look(page, axed, name)
    sign_up(page, email)
    for path, name in (("/account/password/", "password-change"), ("/account/email/", "email-change")):
        page.goto(path)
        look(page, axed, name)
    page.goto("/account/typed/")
    look(page, axed, "typed-nothing")


def test_a_refused_form_names_the_field(page: Page, axed: Axed, email: str) -> None:
    sign_up(page, email)
    tab = page.context.new_page()  # Chromium writes the expected 422 to the console, which `page` would count
    tab.goto("/account/password/")
    tab.get_by_label("Current password").fill("wrong")
    tab.get_by_label("New password").fill("short")
    tab.get_by_role("button", name="Change the password").click()
    expect(tab.get_by_text("That is not your current password.")).to_be_visible()
    expect(tab.get_by_label("Current password")).to_have_attribute("aria-invalid", "true")
    look(tab, axed, "password-change-refused")


def test_the_browsers_zone_is_guessed(page: Page, site: Site, email: str) -> None:
    browser = page.context.browser
    assert browser
    context = browser.new_context(base_url=site.url, timezone_id="Asia/Tokyo")
    elsewhere = context.new_page()
    sign_up(elsewhere, email)
    elsewhere.goto("/account/")
    expect(elsewhere.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
    context.close()


def test_the_forms_work_without_javascript(page: Page, site: Site, email: str) -> None:
    browser = page.context.browser
    assert browser
    context = browser.new_context(base_url=site.url, java_script_enabled=False)
    plain = context.new_page()
    sign_up(plain, email)
    plain.goto("/account/")
    plain.get_by_role("button", name="Sign out").click()
    plain.goto("/account/sign-in/")
    fill_door(plain, email, "Sign in")
    plain.goto("/account/")
    expect(plain.get_by_text(email).first).to_be_visible()
    context.close()


def test_the_keyboard_is_enough_to_sign_in(page: Page, email: str) -> None:
    sign_up(page, email)
    page.goto("/account/")
    page.get_by_role("button", name="Sign out").press("Enter")
    page.goto("/account/sign-in/")
    page.get_by_label("E-mail").focus()
    page.keyboard.type(email)
    page.keyboard.press("Tab")
    page.keyboard.type(STRONG)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{page.url.split('/account')[0]}/")
    page.goto("/account/")
    expect(page.get_by_role("heading", name="Account", exact=True)).to_be_visible()
