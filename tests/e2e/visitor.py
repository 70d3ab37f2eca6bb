"""A visitor without a browser: fetches pages, fills the forms they hold, follows their runs."""

from __future__ import annotations

import json
import re
import time
from html import unescape
from typing import Any

import httpx

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
KEY = re.compile(r'name="idempotency_key" value="([^"]+)"')
RUN = re.compile(r"/runs/([0-9a-f-]{36})/")


class Visitor:
    """One browser session against a running site."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, follow_redirects=True, timeout=30)

    def page(self, path: str) -> str:
        response = self.http.get(path)
        assert response.status_code == 200, (path, response.status_code)
        return response.text

    def submit(self, path: str, data: dict[str, Any], *, to: str | None = None) -> httpx.Response:
        """Post a page's form with its hidden fields."""
        page = self.page(path)
        hidden = {
            "csrfmiddlewaretoken": unescape(TOKEN.findall(page)[-1]),
            "idempotency_key": KEY.findall(page)[-1],
        }
        return self.http.post(to or path, data=hidden | data)

    def generate(self, prompt: str, **settings: Any) -> str:
        """Queue a generation; returns the run's id."""
        data = {"prompt": prompt, "temperature": 0, "top_p": 1, "top_k": 0, "max_tokens": 16, **settings}
        response = self.submit("/playground/generate/", data)
        assert response.status_code == 200, response.text[:2000]
        return str(response.url).rpartition("run=")[2]

    def answer(self, question: str, text: str) -> httpx.Response:
        """Submit an answer; returns the attempt's page."""
        return self.submit(f"/questions/{question}/", {"text": text}, to=f"/questions/{question}/submit/")

    def run(self, run_id: str) -> dict[str, Any]:
        """A run as JSON (the guest's session is enough to read it)."""
        response = self.http.get(f"/api/v1/runs/{run_id}", headers=self._csrf())
        assert response.status_code == 200, response.text[:500]
        return response.json()  # type: ignore[no-any-return]

    def trace(self, run_id: str) -> dict[str, Any]:
        response = self.http.get(f"/runs/{run_id}/trace/?format=json")
        assert response.status_code == 200, response.status_code
        return response.json()["trace"]  # type: ignore[no-any-return]

    def tokens(self, run_id: str, count: int, *, seconds: float = 180) -> None:
        """Follow a run until so many of its tokens have come."""
        deadline, seen, kind = time.monotonic() + seconds, 0, ""
        with self.http.stream("GET", f"/api/v1/runs/{run_id}/events", headers=self._csrf()) as response:
            assert response.status_code == 200, response.status_code
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                kind = value if name == "event" else kind
                if name == "data" and kind == "tokens":
                    seen += len(json.loads(value)["tokens"])
                if seen >= count:
                    return
                assert kind != "done" and time.monotonic() < deadline, (
                    f"{seen} tokens of {count}, then {kind}"
                )

    def cancel(self, run_id: str) -> None:
        self.http.post(f"/api/v1/runs/{run_id}/cancel", headers=self._csrf()).raise_for_status()

    def wait(self, run_id: str, *states: str, seconds: float = 30) -> dict[str, Any]:
        """Wait until a run is in one of the states."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            run = self.run(run_id)
            if run["state"] in states:
                return run
            time.sleep(0.05)
        raise AssertionError(f"run is {run['state']}, not {states}, after {seconds} s: {run['reason']}")

    def _csrf(self) -> dict[str, str]:
        return {"X-CSRFToken": self.http.cookies.get("csrftoken") or ""}
