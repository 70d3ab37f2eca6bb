"""A deadline: `python -m tests.load.submissions [--learners 300] [--questions 30] [--seconds 60] [--json]`.

Starts a site of its own with its one worker, lets a class hand in within a minute, and waits until all is graded: the promises
are each hand-in within 300 ms, none lost, all graded within five minutes of the last. Every answer is worded differently.
Meanwhile somebody practises. `computing_s` is the worker's processor time: shared by the cores, it is the time on a machine that
has nothing else to do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.e2e.conftest import Site, start_site, stop_site
from tests.load.runs import percentile

GRADED_WITHIN = 300
PATIENCE = 1_800.0
PRACTISES_EVERY = 5.0
WORKER = "interview.serve.worker"
WARMING = 3  # learners before the others: a site that has just started compiles its templates


def in_site(site: Site, call: str) -> Any:
    """Call a function of class_of_300.py in the site's own process and database; its JSON."""
    code = f"from tests.load import class_of_300; print(class_of_300.{call})"
    return json.loads(site.manage("shell", "-v0", "-c", code).strip().splitlines()[-1])


async def hand_in(client: httpx.AsyncClient, row: dict[str, str], wait: float) -> tuple[bool, float, float]:
    """One learner at their moment: the page, then the button. Its status, and the milliseconds of both."""
    await asyncio.sleep(wait)
    cookies = {"sessionid": row["session"]}
    began = time.perf_counter()
    page = await client.get(f"/work/{row['submission']}/hand-in/", cookies=cookies)
    looked = time.perf_counter()
    token = page.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    cookies["csrftoken"] = page.cookies["csrftoken"]
    headers = {"Referer": str(page.url)}
    clicked = time.perf_counter()
    answer = await client.post(
        f"/work/{row['submission']}/hand-in/confirm/",
        data={"csrfmiddlewaretoken": token},
        cookies=cookies,
        headers=headers,
    )
    ended = time.perf_counter()
    accepted = answer.status_code == 302 and answer.headers["Location"].endswith("/receipt/")
    return accepted, 1000 * (ended - clicked), 1000 * (looked - began)


async def deadline(site: Site, rows: list[dict[str, str]], seconds: float) -> list[tuple[bool, float, float]]:
    """Everybody hands in, spread over the time."""
    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(base_url=site.url, timeout=120, limits=limits) as client:
        waits = [index * seconds / len(rows) for index in range(len(rows))]
        return await asyncio.gather(
            *(hand_in(client, row, wait) for row, wait in zip(rows, waits, strict=True))
        )


def processor_seconds(site: Site, role: str) -> float:
    """What the site's web or worker process has computed so far."""
    for child in psutil.Process(site.process.pid).children(recursive=True):
        if any(role in word for word in child.cmdline()):
            times = child.cpu_times()
            return float(times.user + times.system)
    raise LookupError(f"the site has no process of {role}")


def until_graded(site: Site, patience: float) -> dict[str, Any]:
    """Wait for the last verdict, with somebody who practises every so often."""
    began = time.monotonic()
    while (state := in_site(site, "count()"))["ungraded"] and time.monotonic() - began < patience:
        in_site(site, f"practise('{time.monotonic()}')")
        time.sleep(PRACTISES_EVERY)
    return {**state, "graded_after": time.monotonic() - began}


def measure(site: Site, learners: int, questions: int, seconds: float, patience: float) -> dict[str, Any]:
    """The figures of one deadline."""
    rows = in_site(site, f"make({learners}, {questions})")
    asyncio.run(deadline(site, in_site(site, f"make({WARMING}, {questions})"), 1.0))
    before = processor_seconds(site, WORKER)
    done = asyncio.run(deadline(site, rows, seconds))
    state = until_graded(site, patience)
    graded_after = state["graded_after"]
    computing = processor_seconds(site, WORKER) - before
    n_graded = state["answers"] - state["ungraded"]
    practised = sorted(in_site(site, "practised()")) or [0]
    clicks = [row[1] for row in done]
    return {
        "learners": learners,
        "questions": questions,
        "accepted": sum(row[0] for row in done),
        "handed_in": state["handed_in"] - WARMING,
        "ungraded": state["ungraded"],
        "hand_in_p50_ms": round(statistics.median(clicks)),
        "hand_in_p95_ms": round(percentile(clicks, 0.95)),
        "hand_in_max_ms": round(max(clicks)),
        "over_300_ms": sum(click > 300 for click in clicks),
        "page_p95_ms": round(percentile([row[2] for row in done], 0.95)),
        "answers": state["answers"],
        "words_an_answer": round(state["words"], 1),
        "graded_after_s": round(graded_after, 1),
        "computing_s": round(computing, 1),
        "computing_ms_an_answer": round(1000 * computing / max(1, n_graded), 1),
        "practised_meanwhile": len(practised),
        "practice_verdict_p50_ms": statistics.median(practised),
        "practice_verdict_max_ms": practised[-1],
        "load": round(os.getloadavg()[0], 1),
        "within_five_minutes": not state["ungraded"] and graded_after <= GRADED_WITHIN,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.submissions", description=__doc__)
    parser.add_argument("--learners", type=int, default=300)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=60, help="in which all hand in")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds after which the rest is left ungraded"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = start_site(Path(folder))
        try:
            found = measure(site, options.learners, options.questions, options.seconds, options.patience)
        finally:
            stop_site(site)
    print(
        json.dumps(found) if options.json else "\n".join(f"{name}: {value}" for name, value in found.items())
    )


if __name__ == "__main__":
    main()
