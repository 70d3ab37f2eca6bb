"""Structured output in a real browser: trials on the model, and a schema that can't be enforced."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Axed

pytestmark = pytest.mark.e2e


def test_trials_pass_their_stages(page: Page, axed: Axed) -> None:
    page.goto("/playground/structured-output/?contract=contact")
    axed(page)
    page.get_by_label("Trials").fill("1")
    page.get_by_label("Max tokens").fill("60")
    page.get_by_role("button", name="Run the trials").click()
    expect(page.locator(".status.is-done")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("region", name="Texts that passed each stage")).to_contain_text("constrained")
    page.get_by_text("Trial 1").first.click()
    expect(page.get_by_text(re.compile("schema: ")).first).to_be_visible()
    page.get_by_text("Step by step").click()
    axed(page)


def test_a_schema_that_cannot_be_enforced_runs_unconstrained(page: Page, axed: Axed) -> None:
    page.goto("/playground/structured-output/")
    page.get_by_label("Contract").select_option("schema")
    page.get_by_text("Your JSON schema", exact=True).last.click()
    page.get_by_label("JSON schema", exact=False).last.fill('{"type": "array", "uniqueItems": true}')
    page.get_by_label("Trials").fill("1")
    page.get_by_label("Max tokens").fill("20")
    page.context.route("**/structured-output/", lambda route: route.fulfill(response=route.fetch(max_redirects=0), status=200) if route.request.method == "POST" else route.continue_(), times=1)  # fmt: skip
    page.get_by_role("button", name="Run the trials").click()
    expect(page.get_by_text("uniqueItems can't be expressed as a grammar")).to_be_visible()
    axed(page)
    page.get_by_role("button", name="Run it unconstrained").click()
    expect(page.locator(".status.is-done")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("region", name="Texts that passed each stage")).to_contain_text("unconstrained")
