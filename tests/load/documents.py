"""A book of 200 pages from its upload until it can be asked: `python -m tests.load.documents [--json]`.

Starts a site of its own (as the browser tests do), uploads the PDF, and follows it; memory is of the worker and its children
together, above what the worker holds with its models loaded.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from tests.e2e.conftest import Site, start_site, stop_site
from tests.e2e.visitor import Visitor
from tests.interview.documents import files

PAGES, WORDS = 200, 500
MOST_SECONDS = 600


def workers(site: Site) -> list[psutil.Process]:
    """The worker and whatever it started."""
    found = []
    for child in psutil.Process(site.process.pid).children(recursive=True):
        if "interview.serve.worker" in " ".join(child.cmdline()):
            found += [child, *child.children(recursive=True)]
    return list(dict.fromkeys(found))


def resident(site: Site) -> int:
    """Bytes that the worker and its children hold."""
    total = 0
    for process in workers(site):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def computing(site: Site) -> float:
    """Seconds of computing of the worker so far."""
    return sum(sum(process.cpu_times()[:4]) for process in workers(site)[:1])


def measure(site: Site) -> dict[str, Any]:
    """Upload, then look ten times a second until it is ready."""
    book = files.pdf([files.ordinary_text(WORDS, n) for n in range(PAGES)])
    visitor = Visitor(site.url)
    visitor.wait(visitor.generate("Warm up.", max_tokens=2), "succeeded")  # makes the visitor a guest
    token = {"X-CSRFToken": visitor.http.cookies.get("csrftoken") or ""}
    idle, spent, began = resident(site), computing(site), time.monotonic()
    sent = visitor.http.post("/api/v1/documents", headers=token, files={"files": ("book.pdf", book)})
    assert sent.status_code in (200, 201, 202), sent.text
    name, peak, found = sent.json()["files"][0]["document"]["id"], idle, {"state": ""}
    while found["state"] not in ("ready", "failed") and time.monotonic() - began < MOST_SECONDS:
        time.sleep(0.1)
        peak = max(peak, resident(site))
        found = visitor.http.get(f"/api/v1/documents/{name}").json()
    return {
        "state": found["state"],
        "pages": found["pages"],
        "passages": found["passages"],
        "seconds": round(time.monotonic() - began, 1),
        "computing_seconds": round(computing(site) - spent, 1),
        "worker_mb_idle": round(idle / 1e6),
        "worker_mb_above": round((peak - idle) / 1e6),
        "load": round(psutil.getloadavg()[0], 1),
    }


def main() -> None:
    """Measure on a site started for it and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.documents", description=main.__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = start_site(Path(folder))
        try:
            figures = measure(site)
        finally:
            stop_site(site)
    print(json.dumps(figures) if options.json else "\n".join(f"{name:20} {v}" for name, v in figures.items()))


if __name__ == "__main__":
    main()
