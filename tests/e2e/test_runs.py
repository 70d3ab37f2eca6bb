"""Replay on the real model, and a cancel while the prompt is still being read."""

from __future__ import annotations

import re
import time

import pytest

from tests.e2e.conftest import Site
from tests.e2e.visitor import RUN, TOKEN, Visitor

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def post(visitor: Visitor, run_id: str, action: str) -> str:
    """Press a button of the run's page; the text of the page it leads to."""
    token = TOKEN.findall(visitor.page(f"/runs/{run_id}/"))[-1]
    response = visitor.http.post(f"/runs/{run_id}/{action}/", data={"csrfmiddlewaretoken": token})
    assert response.status_code == 200, response.status_code
    return f"{response.url}\n{response.text}"


def test_a_replay_gives_the_same_tokens(site: Site) -> None:
    visitor = Visitor(site.url)
    first = visitor.generate("Name three colours.", temperature=1.0, max_tokens=24)
    visitor.wait(first, "succeeded", seconds=180)
    again = RUN.findall(post(visitor, first, "replay"))[0]
    assert again != first
    visitor.wait(again, "succeeded", seconds=180)
    page = visitor.page(f"/runs/{again}/")
    assert re.search(r"Identical: all \d+ tokens", page) or "Equality could not be expected" in page
    traces = [visitor.trace(run_id) for run_id in (first, again)]
    assert traces[0]["seed"] == traces[1]["seed"]
    assert traces[1]["origin"] == {"replay_of": first}
    assert "First" not in site.manage("verify_traces")


def test_a_cancel_while_the_prompt_is_read_stops_it(site: Site) -> None:
    visitor = Visitor(site.url)
    run_id = visitor.generate("word " * 3900, max_tokens=200)
    visitor.wait(run_id, "running", "succeeded", "failed")
    began = time.monotonic()
    visitor.cancel(run_id)
    run = visitor.wait(run_id, "cancelled", "failed", seconds=10)
    assert run["state"] == "cancelled" or "tokens" in run["reason"]
    assert time.monotonic() - began < 2.0
