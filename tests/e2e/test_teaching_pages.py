"""Every page of the teaching room and of LTI with something on it: axe, no sideways scroll, on a desk and on a phone."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.e2e.conftest import Axed, Site, note

pytestmark = pytest.mark.e2e
LOOKS = [(1280, "light"), (360, "dark")]
# Pages that answer with another status on purpose; Chromium writes it to the console.
REFUSED = {"/join/invited/used-up/": 410}


@pytest.fixture(scope="module")
def made(site: Site) -> dict[str, Any]:
    """The class, graded by the site's own worker."""
    code = "from tests.e2e import class_with_everything; print(class_with_everything.make())"
    found: dict[str, Any] = json.loads(site.manage("shell", "-v0", "-c", code).strip().splitlines()[-1])
    return found


def keep(tab: Page, person: str, address: str) -> None:
    """A picture of the whole page, where SCREENSHOTS names a folder."""
    if folder := os.environ.get("SCREENSHOTS"):
        name = re.sub(r"[0-9a-f-]{36}", "x", address).strip("/").replace("/", "-") or "home"
        width = (tab.viewport_size or {"width": 0})["width"]
        Path(folder).mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=str(Path(folder) / f"look-{width}-{person}-{name}.png"), full_page=True)


@pytest.mark.parametrize("person", ["owner", "lena", "milo", "nobody"])
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_is_sound(
    browser: Browser, site: Site, made: dict[str, Any], axed: Axed, person: str, width: int, scheme: Any
) -> None:
    context = browser.new_context(
        base_url=site.url,
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    if person in made["sessions"]:
        context.add_cookies([{"name": "sessionid", "value": made["sessions"][person], "url": site.url}])
    tab, troubles = context.new_page(), []  # type: Page, list[str]

    def listen(message: ConsoleMessage) -> None:
        if "status of 410" not in message.text:
            note(troubles, message)

    tab.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
    tab.on("console", listen)
    for address in made[person]:
        answer = tab.goto(address)
        assert answer is not None and answer.status == REFUSED.get(address, 200), (address, answer)
        keep(tab, person, address)
        axed(tab)
    context.close()
    assert not troubles, troubles
