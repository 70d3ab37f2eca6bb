"""Figures of runs on a started site: `python -m tests.load.runs [--json] [token|streams|trace|batch …]`.

Starts a site of its own (as the browser tests do) and measures the promises of docs/runs.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.e2e.conftest import Site, start_site, stop_site
from tests.e2e.visitor import Visitor

STREAMS = 100
LONG = {"max_tokens": 300, "temperature": 1.2}


def percentile(values: list[float], share: float) -> float:
    """The nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def token_to_browser(site: Site) -> dict[str, Any]:
    """Milliseconds from the engine's token to its arrival over SSE: each batch says when it was sent (wall clock of this
    machine), and the engine's own times say how long each token had waited in it.
    """
    visitor = Visitor(site.url)
    visitor.wait(visitor.generate("Warm up.", max_tokens=2), "succeeded")
    late: list[float] = []
    firsts: list[float] = []
    for seed in range(3):
        run_id = visitor.generate("Tell a long story.", seed=seed, **LONG)
        batches = arrivals(visitor, run_id)
        run = visitor.wait(run_id, "succeeded")
        made = {row[0]: row[4] for row in run["output"]["per_token"]}
        for sent, arrived, indexes in batches:
            waits = [made[indexes[-1]] - made[index] for index in indexes]
            late += [1000 * (arrived - sent) + wait for wait in waits]
        firsts.append(1000 * (batches[0][1] - batches[0][0]))
    return {
        "tokens": len(late),
        "p50_ms": round(percentile(late, 0.5), 1),
        "p95_ms": round(percentile(late, 0.95), 1),
        "first_token_max_ms": round(max(firsts), 1),
    }


def arrivals(visitor: Visitor, run_id: str) -> list[tuple[float, float, list[int]]]:
    """(sent, arrived, token indexes) of every batch of a run's stream, followed as it comes."""
    found = []
    event = ""
    with visitor.http.stream("GET", f"/runs/{run_id}/events/") as stream:
        for line in stream.iter_lines():
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: ") and event == "tokens":
                data = json.loads(line[6:])
                found.append((data["at"], time.time(), [token["i"] for token in data["tokens"]]))
            elif line.startswith("data: ") and event == "done":
                break
    return found


def web_process(site: Site) -> psutil.Process:
    """The web process of a site."""
    children = psutil.Process(site.process.pid).children(recursive=True)
    return next(child for child in children if "serve.web" in " ".join(child.cmdline()))


def hundred_streams(site: Site) -> dict[str, Any]:
    """CPU and memory of the web process with 100 open event streams of one running generation."""
    visitor = Visitor(site.url)
    run_id = visitor.generate("Tell a long story.", seed=1, max_tokens=1500, temperature=1.5)
    visitor.wait(run_id, "running")
    web = web_process(site)
    cookies = dict(visitor.http.cookies)

    async def one(client: httpx.AsyncClient) -> int:
        seen = 0
        async with client.stream("GET", f"{site.url}/runs/{run_id}/events/") as stream:
            async for line in stream.aiter_lines():
                seen += line.startswith("event: tokens")
                if line.startswith("event: done"):
                    break
        return seen

    async def all_of_them() -> list[int]:
        limits = httpx.Limits(max_connections=STREAMS)
        async with httpx.AsyncClient(cookies=cookies, timeout=120, limits=limits) as client:
            return await asyncio.gather(*(one(client) for _ in range(STREAMS)))

    before, began = web.cpu_times(), time.monotonic()
    seen = asyncio.run(all_of_them())
    after, seconds = web.cpu_times(), time.monotonic() - began
    spent = (after.user + after.system) - (before.user + before.system)
    return {
        "streams": STREAMS,
        "events_each_min": min(seen),
        "seconds": round(seconds, 1),
        "web_cores": round(spent / seconds, 2),
        "web_mb": round(web.memory_info().rss / 1e6),
    }


def trace_cost(site: Site) -> dict[str, Any]:
    """Writing the trace as a share of the generation's time: from the run's own clock, over several runs."""
    code = (
        "import time, json; from interview.runs.models import Run; from interview.runs.traces import trace_body;"
        "from interview.runs.chain import canonical_hash; from interview.plain_text import storable_json;"
        "runs = [r for r in Run.objects.filter(kind='generate', state='succeeded').select_related('trace') if r.completion_tokens > 50][:10];\n"
        "for r in runs:\n"
        "    found = {k: v for k, v in r.trace.body.items()}\n"
        "    t = time.perf_counter(); body = storable_json(trace_body(r, found)); canonical_hash(body); json.dumps(body)\n"
        "    print((time.perf_counter() - t) / (r.finished - r.started).total_seconds())"
    )
    shares = [float(line) for line in site.manage("shell", "-v0", "-c", code).split()]
    return {"runs": len(shares), "share_median": round(statistics.median(shares), 4) if shares else None}


def eight_at_once(site: Site) -> dict[str, Any]:
    """Eight runs of eight people at once against the same eight in a row."""
    asked = {"max_tokens": 128, "temperature": 1.2}

    def go(visitors: list[Visitor], together: bool) -> float:
        began = time.monotonic()
        waiting = []
        for seed, visitor in enumerate(visitors):
            run_id = visitor.generate(f"Tell story number {seed}.", seed=seed, **asked)
            if together:
                waiting.append((visitor, run_id))
            else:
                visitor.wait(run_id, "succeeded", seconds=120)
        for visitor, run_id in waiting:
            visitor.wait(run_id, "succeeded", seconds=120)
        return time.monotonic() - began

    row = go([Visitor(site.url) for _ in range(8)], together=False)
    once = go([Visitor(site.url) for _ in range(8)], together=True)
    return {"in_a_row_s": round(row, 2), "at_once_s": round(once, 2), "share": round(once / row, 2)}


MEASURES = {
    "token": token_to_browser,
    "streams": hundred_streams,
    "trace": trace_cost,
    "batch": eight_at_once,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.runs", description=__doc__)
    parser.add_argument(
        "measures", nargs="*", help=f"some of {', '.join(MEASURES)}; all of them where none is named"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = start_site(Path(folder))
        try:
            found = {name: MEASURES[name](site) for name in options.measures or MEASURES}
        finally:
            stop_site(site)
    for name, figures in found.items():
        print(json.dumps({name: figures}) if options.json else f"{name}: {figures}")


if __name__ == "__main__":
    main()
