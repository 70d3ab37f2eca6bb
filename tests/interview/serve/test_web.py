"""The web process: whose word about the client is believed, and how it starts by hand."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from interview.environment import NAMES
from interview.serve import web
from interview.serve.listen import listen
from tests.settings import ROOT


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers with the client and the scheme that the site would see."""
    body = f"{scope['client'][0]} {scope['scheme']}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "seen"),
    [
        ([], "10.0.0.1", "203.0.113.9", "10.0.0.1 http"),
        ([], "127.0.0.1", "203.0.113.9", "127.0.0.1 http"),
        (["10.0.0.0/8"], "10.0.0.1", "203.0.113.9", "203.0.113.9 https"),
        (["10.0.0.0/8"], "10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9 https"),
        (["10.0.0.0/8"], "10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9 https"),
        (["10.0.0.0/8"], "192.0.2.1", "203.0.113.9", "192.0.2.1 http"),
    ],
)
def test_only_trusted_proxies_name_the_client(
    settings: Settings, trusted: list[str], peer: str, forwarded: str, seen: str
) -> None:
    settings.TRUSTED_PROXIES = trusted
    config = web.config()
    config.app = echo
    config.load()

    async def ask() -> str:
        transport = httpx.ASGITransport(app=config.loaded_app, client=(peer, 1))
        headers = {"X-Forwarded-For": forwarded, "X-Forwarded-Proto": "https"}
        async with httpx.AsyncClient(transport=transport, base_url="http://site") as client:
            return (await client.get("/", headers=headers)).text

    assert asyncio.run(ask()) == seen


def start(words: list[str], tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in NAMES}
    clean["DJANGO_SETTINGS_MODULE"] = "interview.settings"
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env={**clean, "VAR_DIR": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("part", ["web", "worker"])
def test_a_bad_setting_ends_a_process_started_by_hand_in_one_line(part: str, tmp_path: Path) -> None:
    done = start([f"interview.serve.{part}"], tmp_path, PORT="many")
    assert done.returncode == 1
    assert (
        done.stderr.strip()
        == "Can't start: PORT='many' can't be used. Allowed: a whole number from 0 to 65535."
    )


def test_by_hand_it_opens_the_port_itself_and_ends_when_told(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
    environment = {
        **os.environ,
        "VAR_DIR": str(tmp_path),
        "PORT": str(port),
        "HTTPS": "off",
        "LOG_FORMAT": "json",
    }
    process = subprocess.Popen([sys.executable, "-m", "interview.serve.web"], cwd=ROOT, env=environment)
    deadline = time.monotonic() + 20
    status = 0
    while status != 200 and time.monotonic() < deadline:
        try:
            answer = httpx.get(f"http://127.0.0.1:{port}/healthz/live")
            status = answer.status_code
        except httpx.TransportError:
            time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    # uvicorn ends itself with the signal it was told to end with
    assert process.wait(timeout=10) in {0, -signal.SIGTERM}
    assert status == 200 and "server" not in answer.headers
