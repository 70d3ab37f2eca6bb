"""A real site for the browser tests: web, worker, Valkey and model, started as a user would start them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.settings import ROOT

READY_SECONDS = 90
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu", "--disable-dev-shm-usage"]
Axed = Callable[[Page], None]


@dataclass
class Site:
    """A running site and how to reach into it."""

    url: str
    var: Path
    process: subprocess.Popen[bytes]
    env: dict[str, str]
    framer: str = ""  # the origin that may show calculators in a frame

    def manage(self, *words: str) -> str:
        """Run a manage.py command against the site's data."""
        command = [sys.executable, "manage.py", *words]
        return subprocess.run(
            command, cwd=ROOT, env=self.env, check=True, capture_output=True, text=True
        ).stdout

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait until database, queue and worker are ready."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process.poll() is None, (self.var / "serve.log").read_text()[-4000:]
            try:
                if httpx.get(f"{self.url}/healthz/ready", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError(
            "The site was not ready in time:\n" + (self.var / "serve.log").read_text()[-4000:]
        )


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def start_site(var: Path, **changes: str) -> Site:
    """Start a site with its own data; models are shared with the checkout."""
    port, framer = free_port(), f"http://127.0.0.1:{free_port()}"
    env = {
        **{key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}},
        "VAR_DIR": str(var),
        "MODELS_DIR": str(ROOT / "var" / "models"),
        "PORT": str(port),
        "HTTPS": "off",
        "DEMO": "on",
        "DJANGO_SETTINGS_MODULE": "interview.settings",
        "EMBED_ANCESTORS": framer,
        "LTI_HOSTS": "127.0.0.1",  # where a test plays a learning platform
        **changes,
    }
    site = Site(f"http://127.0.0.1:{port}", var, None, env, framer)  # type: ignore[arg-type]
    for words in (
        ("migrate", "-v0"),
        ("load_questions",),
        ("create_demo",),
        ("collectstatic", "--noinput", "-v0"),
    ):
        site.manage(*words)
    log = (var / "serve.log").open("wb")
    site.process = subprocess.Popen(
        [sys.executable, "manage.py", "serve"], cwd=ROOT, env=env, stdout=log, stderr=log
    )
    site.wait_ready()
    return site


def stop_site(site: Site) -> None:
    site.process.send_signal(signal.SIGTERM)
    try:
        site.process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        site.process.kill()
        raise


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One site for the whole run."""
    running = start_site(tmp_path_factory.mktemp("site"))
    yield running
    stop_site(running)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium; one a module, so that its event loop is gone before other tests run."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install the package chromium to run the browser tests")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(params=["1280 light", "360 dark"])
def page(browser: Browser, site: Site, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh visitor on a desk and on a phone; any console error, CSP report or failed request fails the test."""
    width, scheme = request.param.split()
    context = browser.new_context(
        base_url=site.url,
        viewport={"width": int(width), "height": 800},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = context.new_page()
    troubles: list[str] = []
    tab.on("console", lambda message: note(troubles, message))
    tab.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
    yield tab
    keep_picture(tab, request.node.name)
    context.close()
    assert not troubles, troubles


def keep_picture(tab: Page, name: str) -> None:
    """A screenshot of the test's last page, where SCREENSHOTS names a folder."""
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        file = re.sub(r"[^\w-]+", "-", name).strip("-")
        tab.screenshot(path=str(Path(folder) / f"{file}.png"), full_page=True)


def note(troubles: list[str], message: ConsoleMessage) -> None:
    if message.type in {"error", "warning"}:
        troubles.append(f"{message.type}: {message.text}")


@pytest.fixture
def axed() -> Axed:
    """Check a page with axe: no violation of any rule."""
    axe = Axe()

    def check(tab: Page) -> None:
        report = axe.run(tab)
        assert report.violations_count == 0, report.generate_report()
        overflow = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"{tab.url} scrolls sideways by {overflow} px"

    return check
