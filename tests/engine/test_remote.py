"""The remote backend against a real server that isn't ours: `transformers serve` with a tiny random model."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine import InvalidRequest, Message, RemoteEngine, Request, Sampling, TokenEvent
from engine.response_formats import ignores_it
from tests.engine.test_sources import save
from tests.engine.tiny import oracle

ASK = (Message("user", "say something"),)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    folder = save(oracle(seed=8), tmp_path_factory.mktemp("served"))
    port = free_port()
    log = (folder / "serve.log").open("w")
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(folder)]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
        stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    for _ in range(240):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
            break
        except OSError:
            assert process.poll() is None, (folder / "serve.log").read_text()[-2000:]
            time.sleep(0.5)
    yield f"http://127.0.0.1:{port}/v1", str(folder)
    process.terminate()
    process.wait(20)


@pytest.fixture
def remote(server: tuple[str, str]) -> Iterator[RemoteEngine]:
    with RemoteEngine(*server) as engine:
        yield engine


def test_a_chat_streams_and_ends(remote: RemoteEngine) -> None:
    handle = remote.submit(Request(messages=ASK, sampling=Sampling(max_tokens=12)))
    events = list(handle)
    texts = [event.text for event in events if isinstance(event, TokenEvent)]
    result = handle.result()
    assert "".join(texts) == result.text and result.text
    assert result.finish_reason in ("stop", "length") and result.error is None
    assert result.timings["ttft_ms"]


def test_cancel_closes_the_stream(remote: RemoteEngine) -> None:
    handle = remote.submit(Request(messages=ASK, sampling=Sampling(temperature=1, seed=2, max_tokens=400)))
    for event in handle:
        if isinstance(event, TokenEvent):
            handle.cancel()
            break
    assert handle.result(10).finish_reason == "cancelled"


def test_a_schema_that_the_server_doesn_t_hold_is_no_valid_output(remote: RemoteEngine) -> None:
    """`transformers serve` takes `response_format` and writes what it likes."""
    s = Sampling(max_tokens=12)
    result = remote.generate(Request(messages=ASK, schema={"type": "integer"}, sampling=s))
    assert result.text and result.parsed is None
    state = result.stats["constraint"]
    assert (state["kind"], state["valid"]) == ("schema", False)
    assert state["truncated"] or (result.error or {})["code"] == "schema_mismatch"


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (Request(messages=ASK, regex="a+"), "regex"),
        (Request(messages=ASK, allow_special=True), "allow_special"),
        (Request(messages=ASK, continue_ids=(3,)), "continue_ids"),
        (Request(messages=ASK, sampling=Sampling(no_repeat_ngram=3)), "no_repeat_ngram"),
        (Request(messages=ASK, sampling=Sampling(order="temperature_last")), "order"),
        (Request(prompt="a", schema={"type": "integer"}), "schema"),
        (Request(prompt="a", tools=({"name": "f"},)), "tools"),
    ],
)
def test_what_a_server_would_pass_over_is_refused_by_name(request_: Request, field: str) -> None:
    engine = RemoteEngine("http://127.0.0.1:9/v1", "none")
    with engine, pytest.raises(InvalidRequest, match=f"{field} .*needs the local model") as caught:
        engine.submit(request_)
    assert (caught.value.code, caught.value.field) == ("not_remote", field)


@pytest.mark.parametrize("began", [b"", b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"])
def test_cancel_waits_for_no_server(began: bytes) -> None:
    """One that is silent, before its answer or within it, sees the connection end at once."""
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, RemoteEngine(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "m") as engine:
        handle = engine.submit(Request(messages=ASK))
        line, _ = silent.accept()
        line.settimeout(20)
        assert line.recv(100_000)
        line.sendall(began)
        handle.cancel()
        result = handle.result(2)
        while line.recv(100_000):
            pass
        line.close()
    assert (result.finish_reason, result.text, result.error) == ("cancelled", "", None)


def test_a_stream_that_breaks_off_is_no_answer() -> None:
    cut = socket.create_server(("127.0.0.1", 0))
    with cut, RemoteEngine(f"http://127.0.0.1:{cut.getsockname()[1]}/v1", "m") as engine:
        handle = engine.submit(Request(messages=ASK))
        line, _ = cut.accept()
        line.recv(100_000)
        part = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": {"content": "half"}, "finish_reason": None}]}  # fmt: skip
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
        line.sendall(head + f"data: {json.dumps(part)}\n\n".encode())
        line.close()
        result = handle.result(20)
    assert (result.text, result.finish_reason) == ("half", "error")
    assert (result.error or {})["code"] == "remote_failed"


def test_a_server_that_is_not_there_is_an_error_of_the_request() -> None:
    with RemoteEngine(f"http://127.0.0.1:{free_port()}/v1", "none") as engine:
        result = engine.generate(Request(messages=ASK))
    assert result.finish_reason == "error" and result.error
    assert result.error["code"] == "remote_failed"


class Scripted(BaseHTTPRequestHandler):
    """A server that promises a schema and breaks it: what a careless backend does."""

    reply = ""
    body: dict[str, Any] = {}

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        Scripted.body = json.loads(self.rfile.read(size))
        self.stream(Scripted.reply)

    def stream(self, reply: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for part, reason in ((reply, None), ("", "stop")):
            choice = {"index": 0, "delta": {"content": part}, "finish_reason": reason}
            chunk = {
                "id": "x",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [choice],
            }
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *args: Any) -> None:
        return None


@pytest.mark.parametrize(
    ("reply", "reason", "parsed"),
    [('{"n": 3}', "stop", {"n": 3}), ('{"n": "3"}', "error", None), ('{"n": 1, "n": 2}', "error", None)],
)
def test_a_schema_is_sent_and_the_text_validated_here_all_the_same(
    reply: str, reason: str, parsed: Any
) -> None:
    server = HTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Scripted.reply = reply
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    s = Sampling(temperature=0.5, top_k=5, repetition_penalty=1.2, seed=7, stop=("END",))
    with RemoteEngine(f"http://127.0.0.1:{server.server_port}/v1", "m") as engine:
        result = engine.generate(Request(messages=ASK, schema=schema, sampling=s))
    server.shutdown()
    assert (result.finish_reason, result.parsed) == (reason, parsed)
    assert Scripted.body["response_format"]["json_schema"]["schema"] == schema
    assert (Scripted.body["seed"], Scripted.body["stop"], Scripted.body["top_k"]) == (7, ["END"], 5)
    assert Scripted.body["repetition_penalty"] == Scripted.body["repeat_penalty"] == 1.2


@pytest.mark.parametrize(
    ("fault", "code"), [(None, "schema_mismatch"), (RuntimeError("a parser with a bug"), "internal_error")]
)
def test_a_text_that_can_t_be_checked_ends_in_an_error(
    fault: Exception | None, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object) -> None:
        assert fault
        raise fault

    if fault:
        monkeypatch.setattr("engine.constraints.parse", parse)
    server = HTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Scripted.reply = 300 * "[" + 300 * "]"
    schema = {"$ref": "#/$defs/list", "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}}}
    with RemoteEngine(f"http://127.0.0.1:{server.server_port}/v1", "m") as engine:
        result = engine.submit(Request(messages=ASK, schema=schema)).result(20)
    server.shutdown()
    assert (result.text, result.finish_reason) == (Scripted.reply, "error")
    assert (result.error or {})["code"] == code


Answers = Callable[[str], tuple[int, str]]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def refusing(status: int, kind: str, why: str) -> Answers:
    """A server that refuses one kind of `response_format` and holds the other."""
    return lambda asked: (status, why) if asked == kind else (200, '{"n": 3}')


@contextmanager
def answering(answers: Answers) -> Iterator[tuple[RemoteEngine, list[str]]]:
    """An engine whose server answers by the kind of `response_format`; the list tells which were asked for."""
    asked: list[str] = []

    class Answering(Scripted):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body["response_format"]["type"])
            status, text = answers(asked[-1])
            if status == 200:
                self.stream(text)
                return
            told = json.dumps({"error": {"message": text}}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

    server = HTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with RemoteEngine(f"http://127.0.0.1:{server.server_port}/v1", "m") as engine:
        engine.client = engine.client.with_options(max_retries=0)
        yield engine, asked
    server.shutdown()


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_schema_refused_in_one_shape_is_sent_in_the_other(status: int) -> None:
    """As llama-cpp-python's server refuses OpenAI's; what a server took is sent first from then on."""
    why = "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]"
    with answering(refusing(status, "json_schema", why)) as (engine, asked):
        results = [engine.generate(Request(messages=ASK, schema=SCHEMA)) for _ in range(2)]
    assert [(r.parsed, r.error, r.stats["constraint"]["sent_as"]) for r in results] == [
        ({"n": 3}, None, "json_object")
    ] * 2
    assert asked == ["json_schema", "json_object", "json_object"]


@pytest.mark.parametrize(
    ("status", "why"), [(400, "no model is called m"), (401, "response_format of strangers")]
)
def test_another_refusal_is_no_reason_to_ask_again(status: int, why: str) -> None:
    with answering(refusing(status, "json_schema", why)) as (engine, asked):
        result = engine.generate(Request(messages=ASK, schema=SCHEMA))
    assert asked == ["json_schema"] and (result.error or {})["code"] == "remote_refused"


def test_an_answer_that_ignores_the_schema_is_left_before_anything_is_said() -> None:
    with answering(lambda kind: (200, "Sure: three" if kind == "json_schema" else ' {"n": 3}')) as (
        engine,
        asked,
    ):
        events = list(engine.submit(Request(messages=ASK, schema=SCHEMA)))
    assert "".join(e.text for e in events if isinstance(e, TokenEvent)) == ' {"n": 3}'
    assert asked == ["json_schema", "json_object"]


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (lambda kind: (200, "Sure: three"), "held no schema"),
        (lambda kind: (200, "Sure") if kind == "json_schema" else (400, "what schema?"), "ignores json_schema and refuses"),
        (lambda kind: (200, '{"n": "three"}'), "held no schema"),
    ],
)  # fmt: skip
def test_a_server_that_holds_no_schema_is_said_to(answers: Answers, told: str) -> None:
    with answering(answers) as (engine, _):
        result = engine.generate(Request(messages=ASK, schema=SCHEMA))
    assert result.parsed is None and not result.stats.get("constraint", {}).get("valid")
    assert (result.error or {})["code"] == "schema_mismatch" and told in (result.error or {})["message"]


def test_a_schema_that_was_not_held_goes_out_in_the_other_shape_the_next_time() -> None:
    with answering(lambda kind: (200, '{"n": "3"}' if kind == "json_schema" else '{"n": 3}')) as (
        engine,
        asked,
    ):
        results = [engine.generate(Request(messages=ASK, schema=SCHEMA)).parsed for _ in range(3)]
    assert results == [None, {"n": 3}, {"n": 3}]
    assert asked == ["json_schema", "json_object", "json_object"]


@pytest.mark.parametrize(
    ("text", "schema", "ignored"),
    [
        ("", {"type": "object"}, False),
        (" \n", {"type": "object"}, False),
        ("{", {"type": "object"}, False),
        ("```json", {"type": "object"}, True),
        ("[", {"type": "object"}, True),
        ("-1", {"type": ["integer", "null"]}, False),
        ("nu", {"type": ["integer", "null"]}, False),
        ("true", {"type": ["integer", "null"]}, True),
        ("Sure", {}, True),
        ("false", True, False),
        ('"', {"enum": ["a"]}, False),
    ],
)
def test_what_an_answer_s_beginning_shows(text: str, schema: Any, ignored: bool) -> None:
    assert ignores_it(text, schema) is ignored
