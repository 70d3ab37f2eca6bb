"""Journey 4 in a real browser: ask the model, watch the tokens, stop it, read the trace."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Axed

pytestmark = pytest.mark.e2e
# These tests wait for a state, however slow the machine; how fast it has to be is measured in test_speed.py and tests/load.
ENDS = 180_000


def ask(page: Page, prompt: str, max_tokens: int) -> None:
    page.goto("/playground/generate/")
    page.get_by_label("Prompt", exact=True).fill(prompt)
    page.get_by_label("Max tokens").fill(str(max_tokens))
    page.get_by_label("Seed").fill("7")
    page.get_by_role("button", name="Generate").click()


def test_tokens_stream_and_the_trace_can_be_read(page: Page, axed: Axed) -> None:
    page.goto("/playground/")
    axed(page)
    page.goto("/playground/generate/")
    axed(page)
    ask(page, "Name three colours.", 24)
    expect(page.locator(".status.is-done")).to_be_visible(timeout=ENDS)
    assert page.locator(".stream .token").count() > 3
    expect(page.get_by_text("time to first token")).to_be_visible()
    axed(page)
    page.get_by_role("link", name="Trace").click()
    expect(
        page.get_by_text("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", exact=True)
    ).to_be_visible()
    expect(page.locator("#rendered + pre")).to_contain_text("<|im_start|>assistant")
    axed(page)


def test_stop_ends_the_generation_within_a_second(page: Page) -> None:
    ask(page, "Write a very long story about a lighthouse keeper.", 2000)
    expect(page.locator(".stream .token").nth(10)).to_be_visible(timeout=ENDS)
    started = time.monotonic()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".status.is-cancelled")).to_be_visible(timeout=5_000)
    assert time.monotonic() - started < 1.5
    assert page.locator(".stream .token").count() < 1900


def test_the_settings_come_back_for_another_run(page: Page) -> None:
    ask(page, "Say hello to <b>you</b>.", 8)
    expect(page.locator(".status.is-done")).to_be_visible(timeout=ENDS)
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("Say hello to <b>you</b>.")
    expect(page.get_by_label("Seed")).to_have_value("7")


def test_a_bad_value_is_named_and_the_prompt_kept(page: Page, axed: Axed) -> None:
    page.goto("/playground/generate/")
    page.get_by_label("Prompt", exact=True).fill("Keep me")
    page.get_by_label("Temperature").fill("-1")
    page.context.route("**/generate/", lambda route: route.fulfill(response=route.fetch(), status=200))
    page.get_by_role("button", name="Generate").click()
    expect(page.get_by_text("Ensure this value is greater than or equal to 0.")).to_be_visible()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("Keep me")
    axed(page)


def test_a_token_shows_its_alternatives_and_another_path_is_taken(page: Page, axed: Axed) -> None:
    ask(page, "Name three colours.", 12)
    expect(page.locator(".status.is-done")).to_be_visible(timeout=ENDS)
    expect(page.locator("[data-meter=kv]")).to_contain_text("bytes")
    page.get_by_text("The prompt as the model read it").click()
    expect(page.locator(".prompt-tokens .is-special").first).to_have_text("<|im_start|>")
    third = page.locator(".stream a.token").nth(3)
    third.click()
    expect(page.locator("#token-panel h2")).to_contain_text("Token 3")
    assert page.locator(".candidates tbody tr").count() >= 5
    axed(page)
    page.reload()
    expect(page.locator("#token-panel h2")).to_contain_text("Token 3")
    other = page.get_by_role("button", name="Go on from").first
    word = (other.get_attribute("aria-label") or "").removeprefix("Go on from ")
    other.click()
    expect(page.locator(".status.is-done")).to_be_visible(timeout=ENDS)
    expect(page.get_by_text("an earlier run")).to_be_visible()
    kept = page.locator("code.kept").inner_text().replace("·", " ")
    assert kept.endswith(word), (kept, word)
    axed(page)


def test_the_loop_by_hand(page: Page, axed: Axed) -> None:
    page.goto("/playground/next-token/")
    axed(page)
    page.get_by_role("button", name="Read it").click()
    expect(page.locator("#kept .value")).to_have_text("49\u202f152", timeout=ENDS)
    page.get_by_label("Top-k").fill("2")
    expect(page.locator("#kept .value")).to_have_text("2")
    first = page.get_by_role("button", name="Append").first
    word = (first.get_attribute("aria-label") or "").removeprefix("Append ")
    first.click()
    appended = page.locator(".stream .is-picked")
    expect(appended).to_have_count(1, timeout=ENDS)
    assert appended.inner_text().replace("·", " ").rstrip("\u200b") == word
    expect(page.get_by_label("Top-k")).to_have_value("2")
    page.get_by_role("button", name="Draw one and read on").click()
    expect(appended).to_have_count(2, timeout=ENDS)
    page.get_by_text("Words, ids, vectors, logits").click()
    axed(page)
    page.get_by_role("link", name="Undo").click()
    expect(appended).to_have_count(1)


def test_attention_by_head_and_token(page: Page, axed: Axed) -> None:
    page.goto("/playground/attention/")
    axed(page)
    page.get_by_role("button", name="Look").click()
    expect(page.locator("#attention-map")).to_be_visible(timeout=ENDS)
    axed(page)
    page.get_by_role("navigation", name="Head").get_by_role("link", name="3", exact=True).click()
    expect(page.locator(".chip[aria-current]")).to_have_text("3")
    page.locator(".attention-map a.row").nth(7).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#attention-map h2")).to_contain_text("because")
    assert page.url.endswith("token=7")
    axed(page)


def test_trials_show_the_distribution(page: Page, axed: Axed) -> None:
    page.goto("/playground/trials/")
    axed(page)
    page.get_by_label("Trials of each setting").fill("4")
    page.get_by_label("Max tokens").fill("8")
    page.get_by_role("button", name="Run the trials").click()
    expect(page.get_by_role("heading", name="greedy (T 0)")).to_be_visible(timeout=ENDS)
    expect(page.get_by_text("Token for token alike in all 4 trials.")).to_be_visible()
    expect(page.get_by_role("row", name="T 1.5")).to_be_visible()
    axed(page)


def test_a_load_is_served_and_measured(page: Page, axed: Axed) -> None:
    page.goto("/playground/serving/")
    axed(page)
    page.get_by_label("Clients at once").fill("4")
    page.get_by_label("Requests").fill("4")
    page.get_by_label("Prompt tokens").fill("16")
    page.get_by_label("Answer tokens").fill("6")
    page.get_by_role("button", name="Send the load").click()
    expect(page.get_by_role("row", name="time to first token")).to_be_visible(timeout=ENDS)
    expect(page.get_by_role("link", name="batching calculator").first).to_be_visible()
    axed(page)


def test_a_prompt_is_kept_changed_and_run(page: Page, axed: Axed) -> None:
    page.goto("/playground/prompts/")
    axed(page)
    page.get_by_label("Name").fill("Explain")
    page.get_by_role("button", name="Keep it").click()
    axed(page)
    page.get_by_label("User prompt").fill("Explain {{ topic }} briefly.")
    page.get_by_role("button", name="Keep this version").click()
    page.get_by_role("link", name="against 2").click()
    expect(page.locator(".difference .is-added")).to_have_text("+ Explain {{ topic }} briefly.\n")
    axed(page)
    page.get_by_label("topic").fill("a cache")
    page.get_by_label("Max tokens").fill("6")
    page.get_by_role("button", name="Run it").click()
    expect(page.locator(".status.is-done")).to_be_visible(timeout=ENDS)
    expect(page.get_by_role("link", name="Explain, version 2")).to_be_visible()
    axed(page)


def test_a_pin_is_asked_twice_and_compared(page: Page, axed: Axed) -> None:
    page.goto("/playground/drift/")
    axed(page)
    page.get_by_label("Prompts").fill("Name a colour.")
    page.get_by_label("Max tokens").fill("4")
    page.get_by_label("Trials of each prompt").fill("4")
    page.get_by_role("button", name="Pin it").click()
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".status.is-done")).to_be_visible(timeout=ENDS)
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_text("Prompt by prompt")).to_be_visible(timeout=ENDS)
    # On a phone a cell says its column's name first.
    expect(page.get_by_role("cell", name=re.compile("^(replays )?the same$"))).to_be_visible()
    axed(page)
