"""What breaks in the night: a killed worker, a lost broker, a forgetful one. No answer and no run may be lost."""

from __future__ import annotations

import os
import re
import secrets
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import psutil
import pytest
import redis

from interview.runs.valkey import EmbeddedValkey
from tests.e2e.conftest import Site, start_site, stop_site
from tests.e2e.visitor import RUN, Visitor
from tests.factories import ANSWER

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
QUESTION = "why-is-long-context-expensive"
LONG = {"max_tokens": 1500, "temperature": 1.5, "seed": 3}


def workers(site: Site) -> list[psutil.Process]:
    """The site's worker processes."""
    children = psutil.Process(site.process.pid).children(recursive=True)
    return [child for child in children if "worker" in " ".join(child.cmdline())]


def test_killing_the_worker_loses_no_run(site: Site) -> None:
    visitor = Visitor(site.url)
    # A second's worth of tokens and more: looking for the processes takes a while as well.
    found = workers(site)
    run_id = visitor.generate("Tell a long story.", **{**LONG, "max_tokens": 700})
    visitor.tokens(run_id, 5)
    killed = datetime.now(UTC)
    for process in found:
        process.send_signal(signal.SIGKILL)
    run = visitor.wait(run_id, "succeeded", seconds=180)
    assert run["attempt"] == 2
    history = visitor.trace(run_id)["history"]
    assert [entry["attempt"] for entry in history] == [1]
    back = datetime.fromisoformat(history[0]["at"]) - killed
    assert back.total_seconds() < 15, "a killed worker's run is back in the queue within 15 s"
    site.wait_ready()


def test_cancelling_stops_the_computing(site: Site) -> None:
    visitor = Visitor(site.url)
    run_id = visitor.generate("Tell a long story.", **LONG)
    visitor.wait(run_id, "running")
    started = time.monotonic()
    visitor.cancel(run_id)
    run = visitor.wait(run_id, "cancelled", seconds=5)
    assert time.monotonic() - started < 1.0
    assert run["output"]["usage"]["completion_tokens"] < LONG["max_tokens"]
    worker = max(workers(site), key=lambda process: process.memory_info().rss)
    worker.cpu_percent()
    time.sleep(1.0)
    assert worker.cpu_percent() < 50


def test_many_at_once_all_end(site: Site) -> None:
    visitors = [Visitor(site.url) for _ in range(8)]
    runs = [(visitor, visitor.generate(f"Count to {n}.", seed=n)) for n, visitor in enumerate(visitors)]
    assert {visitor.wait(run_id, "succeeded", seconds=180)["state"] for visitor, run_id in runs} == {
        "succeeded"
    }


def test_a_prompt_over_the_window_is_refused_with_both_numbers(site: Site) -> None:
    visitor = Visitor(site.url)
    fits = visitor.generate("word " * 3900, max_tokens=16)
    assert visitor.wait(fits, "succeeded", "failed", seconds=240)["state"] == "succeeded"
    prompt = "a b c d e f g h i j " * 990
    refused = visitor.submit("/playground/generate/", {"prompt": prompt, "temperature": 0, "max_tokens": 16})
    assert refused.status_code == 422 and prompt.strip() in refused.text, "nothing typed is lost"
    assert re.search(r"The prompt has \d[\d,]* tokens; the context window holds 8[\d,]*", refused.text)


@pytest.fixture
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, EmbeddedValkey]]:
    """A site on a Valkey that the test can take away."""
    folder = tmp_path_factory.mktemp("broker")
    valkey = EmbeddedValkey(folder)
    valkey.start()
    running = start_site(folder, REDIS_URL=valkey.url, SECRET_KEY=secrets.token_urlsafe(48))
    yield running, valkey
    stop_site(running)
    valkey.stop()


def test_a_lost_broker_keeps_the_answer_and_assesses_it_later(
    own_broker: tuple[Site, EmbeddedValkey],
) -> None:
    site, valkey = own_broker
    visitor = Visitor(site.url)
    valkey.stop()
    started = time.monotonic()
    page = visitor.answer(QUESTION, ANSWER)
    assert page.status_code == 200
    assert time.monotonic() - started < 5
    assert "The queue can’t be reached right now" in page.text.replace("&#x27;", "’").replace("'", "’")
    valkey.start()
    path = page.url.path
    deadline = time.monotonic() + 60
    while "points met" not in visitor.page(path):
        assert time.monotonic() < deadline, "not assessed after the broker came back"
        time.sleep(0.5)


def test_a_broker_that_forgets_everything_loses_no_run(own_broker: tuple[Site, EmbeddedValkey]) -> None:
    site, valkey = own_broker
    visitor = Visitor(site.url)
    stopped = workers(site)
    for process in stopped:
        os.kill(process.pid, signal.SIGSTOP)
    run_ids = [visitor.generate(f"Say {n}.") for n in range(4)]
    redis.Redis.from_url(valkey.url).flushall()
    for process in stopped:
        os.kill(process.pid, signal.SIGCONT)
    for run_id in run_ids:
        assert visitor.wait(run_id, "succeeded", seconds=180)["attempt"] == 1


def test_a_refused_answer_loses_nothing(site: Site) -> None:
    page = Visitor(site.url).answer(QUESTION, "z" * 30_000)
    assert page.status_code == 422
    assert "z" * 30_000 in page.text


def test_the_attempt_page_names_its_run(site: Site) -> None:
    visitor = Visitor(site.url)
    page = visitor.answer(QUESTION, ANSWER)
    assert RUN.search(page.text) or "points met" in page.text
