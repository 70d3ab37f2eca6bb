"""`manage.py serve` for real: Valkey, web, worker and model, killed and started again. On the embedded services,
or on PostgreSQL and Redis where the test run is on them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
from django.conf import settings

from interview.environment import NAMES
from tests.settings import ROOT

pytestmark = pytest.mark.slow
SERVICES = bool(os.environ.get("REDIS_URL"))
DATABASE = "prefill_serve_test"
MEGABYTE = 1_000_000


def variables(var_dir: Path) -> dict[str, str]:
    """The environment of a site with its own data; models are shared with the checkout."""
    given = {name: value for name, value in os.environ.items() if name not in NAMES}
    given |= {"DJANGO_SETTINGS_MODULE": "interview.settings", "VAR_DIR": str(var_dir), "PORT": "0"}
    given |= {"MODELS_DIR": str(settings.MODELS_DIR), "HTTPS": "off", "SECRET_KEY": "for-this-test-only" * 4}
    if SERVICES:
        given["REDIS_URL"] = re.sub(r"/\d+$", "", os.environ["REDIS_URL"]) + "/14"
        given["DATABASE_URL"] = re.sub(r"/[^/]+$", f"/{DATABASE}", os.environ["DATABASE_URL"])
    return given


class Site:
    """A supervisor process and what it printed."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self.environment, self.log = environment, log
        self.began = time.monotonic()
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=output,
            )
        self.url = ""

    def output(self) -> str:
        return self.log.read_text()

    def wait_ready(self) -> None:
        self.until(lambda: "Prefill is ready" in self.output(), 60)
        (self.url,) = re.findall(r"Prefill is ready after [\d.]+ s: (http://\S+)/\n", self.output())

    def until(self, holds: Callable[[], object], seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert self.process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.05)

    def child(self, part: str) -> psutil.Process | None:
        """The running child of which the command names this part."""
        try:
            children = psutil.Process(self.process.pid).children()
            return next((child for child in children if part in " ".join(child.cmdline())), None)
        except psutil.NoSuchProcess:
            return None

    def pid(self, part: str) -> int:
        found = self.child(part)
        return found.pid if found else 0

    def get(self, path: str) -> int:
        try:
            return httpx.get(self.url + path, timeout=10).status_code
        except httpx.TransportError:
            return 0

    def ready(self) -> bool:
        return self.get("/healthz/ready") == 200

    def kill_and_wait(self, part: str) -> None:
        """Kill a child; wait until another stands in its place and the site is ready."""
        before = self.pid(part)
        os.kill(before, signal.SIGKILL)
        self.until(lambda: self.pid(part) not in {0, before})
        self.until(lambda: self.pid("interview.serve.worker") and self.ready())


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A prepared site: what a second start finds."""
    environment = variables(tmp_path_factory.mktemp("serve"))
    if SERVICES:
        maintenance = re.sub(r"/[^/]+$", "/postgres", os.environ["DATABASE_URL"])
        with psycopg.connect(maintenance, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {DATABASE}")
    subprocess.run([sys.executable, "manage.py", "prepare"], cwd=ROOT, env=environment, check=True)
    yield environment
    if SERVICES:
        with psycopg.connect(maintenance, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


@pytest.fixture(scope="module")
def site(environment: dict[str, str]) -> Iterator[Site]:
    running = Site(environment, Path(environment["VAR_DIR"]) / "serve.log")
    running.wait_ready()
    yield running
    running.process.kill()
    running.process.wait()


def test_a_second_start_shows_the_first_page_within_ten_seconds(site: Site) -> None:
    """Where `manage.py check`, which imports the site once, takes up to two seconds; as much longer where that does."""
    assert site.get("/") == 200
    took = time.monotonic() - site.began
    began = time.monotonic()
    subprocess.run([sys.executable, "manage.py", "check"], cwd=ROOT, env=site.environment, check=True)
    once = time.monotonic() - began
    assert took < max(10, 5 * once), (took, once)
    assert site.ready()


def test_the_web_process_is_small_and_has_no_torch(site: Site) -> None:
    for path in (
        "/",
        "/questions/",
        "/calculators/kv-cache/",
        "/playground/generate/",
        "/api/v1/openapi.json",
    ):
        assert site.get(path) == 200, path
    web = site.child("interview.serve.web")
    assert web is not None
    assert web.memory_info().rss < 150 * MEGABYTE
    if sys.platform == "linux":
        maps = Path(f"/proc/{web.pid}/maps").read_text()
        assert "libpython" in maps or "python" in maps
        assert "torch" not in maps


def test_the_worker_stays_under_one_and_a_half_gigabytes(site: Site) -> None:
    worker = site.child("interview.serve.worker")
    assert worker is not None and worker.memory_info().rss < 1500 * MEGABYTE


@pytest.mark.parametrize("part", ["interview.serve.web", "interview.serve.worker", "valkey-server"])
def test_a_killed_child_is_replaced(site: Site, part: str) -> None:
    if part == "valkey-server" and SERVICES:
        assert site.pid(part) == 0, "REDIS_URL is set: no Valkey of our own"
        return
    site.kill_and_wait(part)
    assert "was ended by SIGKILL; it starts again in 1 s." in site.output()


def test_requests_wait_while_the_web_process_is_replaced(site: Site) -> None:
    os.kill(site.pid("interview.serve.web"), signal.SIGKILL)
    assert (
        site.get("/healthz/live") == 200 or site.get("/healthz/live") == 200
    )  # the first may have been cut off


def serve_again(environment: dict[str, str], **changes: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env={**environment, **changes},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    return line


def test_a_second_supervisor_on_the_same_port_is_refused(site: Site, environment: dict[str, str]) -> None:
    port = site.url.rpartition(":")[2]
    assert f"Port {port} on 127.0.0.1 is taken" in serve_again(environment, PORT=port)


def test_a_second_supervisor_on_the_same_data_is_refused(site: Site, environment: dict[str, str]) -> None:
    if SERVICES:
        assert "doesn't answer" in serve_again(environment, REDIS_URL="redis://127.0.0.1:9/0")
    else:
        assert "Another Prefill is running" in serve_again(environment)


def test_the_probe_of_the_container_agrees(site: Site, environment: dict[str, str]) -> None:
    site.until(site.ready)
    port = site.url.rpartition(":")[2]
    for words in ([], ["web", "queue"], ["worker-here"]):
        done = subprocess.run(
            [sys.executable, "-m", "interview.serve.probe", *words],
            cwd=ROOT,
            env={**environment, "PORT": port},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert all(json.loads(done.stdout).values())
    silent = subprocess.run(
        [sys.executable, "-m", "interview.serve.probe"],
        cwd=ROOT,
        env={**environment, "PORT": "9"},
        capture_output=True,
    )
    assert silent.returncode == 1


def test_a_term_signal_ends_everything_with_status_zero(environment: dict[str, str], site: Site) -> None:
    children = psutil.Process(site.process.pid).children(recursive=True)
    assert len(children) >= (2 if SERVICES else 3)
    site.process.send_signal(signal.SIGTERM)
    assert site.process.wait(timeout=20) == 0
    _, alive = psutil.wait_procs(children, timeout=5)
    assert alive == []
    assert "Traceback" not in site.output().rpartition("Prefill is ready")[2]


def test_a_killed_supervisor_takes_its_children_along(environment: dict[str, str]) -> None:
    again = Site(environment, Path(environment["VAR_DIR"]) / "again.log")
    again.wait_ready()
    children = psutil.Process(again.process.pid).children(recursive=True)
    again.process.kill()
    again.process.wait()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


def test_a_worker_without_its_model_ends_the_start_with_a_reason(
    environment: dict[str, str], tmp_path: Path
) -> None:
    broken = {**environment, "MODELS_DIR": str(tmp_path / "empty")}
    done = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env=broken,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "The worker process ended 3 times before the site was ready" in done.stderr
    assert "models could not be loaded" in done.stdout
