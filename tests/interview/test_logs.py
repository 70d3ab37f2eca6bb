"""Logs: one object a line for a collector, no line for health checks, a traceback once."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import structlog

from interview import logs
from tests.settings import ROOT

CODE = """
import logging, structlog
from interview import logs
logs.configure({"level": "INFO", "format": %r})
log = structlog.get_logger("interview.test")
log.info("run_finished", run="42", tokens=7)
log.debug("too_quiet")
log.info("request_started", request="GET /")
log.info("request_finished", request="GET /healthz/ready", code=200)
log.info("request_finished", request="GET /questions/", code=200)
logging.getLogger("plain").warning("from %%s", "elsewhere")
logging.getLogger("django.request").error("Service Unavailable: /x")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("django.request").error("Internal Server Error: /x", exc_info=True)
"""


def written(format: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE % format], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_json_is_one_object_a_line() -> None:
    lines = [json.loads(line) for line in written("json")]
    assert [line["event"] for line in lines] == [
        "run_finished",
        "request_finished",
        "from elsewhere",
        "Internal Server Error: /x",
    ]
    assert {"timestamp", "level", "logger"} <= set(lines[0])
    assert lines[0]["run"] == "42" and lines[0]["tokens"] == 7
    assert lines[1]["request"] == "GET /questions/"
    assert "ZeroDivisionError" in lines[3]["exception"]


def test_the_console_gets_readable_lines() -> None:
    lines = written("console")
    assert "run_finished" in lines[0] and "run=42" in lines[0]
    assert "\x1b" not in "".join(lines)


def test_a_dropped_line_is_dropped_by_structlog_itself() -> None:
    with pytest.raises(structlog.DropEvent):
        logs.drop_routine(None, "info", {"event": "request_started"})
