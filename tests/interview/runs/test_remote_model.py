"""The worker with ENGINE_URL: a server that isn't ours answers, and what it can't show is refused with the reason."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from engine.registry import DEFAULT_DIR
from interview.accounts.models import User
from interview.playground.models import Pin
from interview.runs import services
from interview.runs.models import Run
from interview.runs.replay import CannotReplay, run_replay
from interview.runs.sharing import CannotShare, run_fork
from interview.runs.worker import LoadedModels, Worker
from tests.engine.test_remote import server  # noqa: F401  # `transformers serve`

pytestmark = pytest.mark.django_db
SAMPLING = {"max_tokens": 12, "temperature": 1.0, "seed": 4}


@pytest.fixture
def worker(server: tuple[str, str], settings: Any) -> Worker:  # noqa: F811  # the fixture
    settings.ENGINE_URL, settings.ENGINE_MODEL = server
    settings.MODELS_DIR = Path(os.environ.get("MODELS_DIR", str(DEFAULT_DIR)))
    made = Worker()
    made.models = LoadedModels()
    return made


def done(worker: Worker, owner: User, kind: str, body: dict[str, Any]) -> Run:
    run = services.run_create(owner=owner, kind=kind, input=body)
    worker.execute(str(run.pk))
    run.refresh_from_db()
    return run


def test_a_generation_is_answered_by_the_server(worker: Worker, owner: User, client: Client) -> None:
    body = {"messages": [{"role": "user", "content": "say something"}], "sampling": SAMPLING}
    run = done(worker, owner, "generate", body)
    output = run.output or {}
    assert (run.state, run.reason) == ("succeeded", "")
    assert output["text"] and output["stats"]["remote"].startswith("http://127.0.0.1")
    assert output["usage"]["prompt_tokens"] > 0
    assert "served by http://127.0.0.1" in str(run.trace.body["model"])
    client.force_login(owner)
    page = client.get(f"/playground/generate/?run={run.pk}").content.decode()
    assert "of 0 tokens" not in page and "The prompt as the model read it" not in page


def test_the_api_s_completion_is_answered_by_the_server(worker: Worker, owner: User) -> None:
    body = {
        "messages": [{"role": "user", "content": "say something"}],
        "sampling": {**SAMPLING, "logprobs": 2},
        "n": 2,
    }
    run = done(worker, owner, "chat", body)
    assert run.state == "succeeded", run.reason
    assert [choice["finish_reason"] for choice in (run.output or {})["choices"]]


PAGES = {
    "attention": ("/playground/attention/", {"prompt": "a b c", "layer": "0"}, {"prompt": "a b c", "layer": 0}),
    "next-token": ("/playground/next-token/", {"prompt": "a b c"}, {"prompt": "a b c"}),
    "serving": (
        "/playground/serving/",
        {"concurrency": "1", "requests": "1", "prompt_tokens": "8", "output_tokens": "2", "start": "distinct", "speculation": "off"},
        {"concurrency": 1, "requests": 1, "prompt_tokens": 8, "output_tokens": 2, "start": "distinct", "speculation": "off"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", PAGES)
def test_what_looks_inside_is_refused_before_it_is_queued(
    owner: User, client: Client, settings: Any, kind: str
) -> None:
    settings.ENGINE_URL = "http://127.0.0.1:9/v1"
    client.force_login(owner)
    address, sent, body = PAGES[kind]
    assert "runs on a server that doesn" in client.get(address).content.decode(), (
        "said before anything is typed"
    )
    page = client.post(address, {**sent, "idempotency_key": "k"})
    assert page.status_code == 422 and "works with a local model" in page.content.decode()
    api = client.post("/api/v1/runs", {"kind": kind, "input": body}, content_type="application/json")
    assert (api.status_code, api.json()["code"]) == (422, "not_remote")
    assert not Run.objects.exists()


def test_documents_are_not_asked_on_a_server(owner: User, client: Client, settings: Any) -> None:
    """Asked or evaluated: said before anything is typed, and refused with what was typed kept. They are still searched."""
    settings.ENGINE_URL = "http://127.0.0.1:9/v1"
    client.force_login(owner)
    for address, sent in (
        ("/documents/ask/", {"question": "who laid the cable?", "scope": "", "most": "3", "style": "quote"}),
        (
            "/documents/evaluation/",
            {"source": "squad", "style": "quote", "most": "10", "name": "who laid the cable?"},
        ),
    ):
        assert "runs on a server that doesn" in client.get(address).content.decode()
        page = client.post(address, {**sent, "idempotency_key": "k"})
        assert page.status_code == 422 and "works with a local model" in page.content.decode()
        assert "who laid the cable?" in page.content.decode()
    assert "runs on a server" not in client.get("/documents/search/").content.decode()
    for kind in ("ask", "measure"):
        api = client.post("/api/v1/runs", {"kind": kind, "input": {}}, content_type="application/json")
        assert (api.status_code, api.json()["code"]) == (422, "not_remote")
    assert not Run.objects.exists()


def test_a_calculator_isn_t_measured_on_a_server(owner: User, client: Client, settings: Any) -> None:
    settings.ENGINE_URL = "http://127.0.0.1:9/v1"
    client.force_login(owner)
    shown = client.get("/calculators/kv-cache/").content.decode()
    assert "runs on a server that doesn" in shown and "Run it on the model" not in shown
    page = client.post("/calculators/kv-cache/measure/", {"query": ""})
    assert page.status_code == 422 and "works with a local model" in page.content.decode()
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"regex": "x+"}, "regex"),
        ({"choices": ["a", "b"]}, "choices"),
        ({"allow_special": True}, "allow_special"),
        ({"sampling": {"no_repeat_ngram": 3}}, "no_repeat_ngram"),
        ({"sampling": {"order": "temperature_last"}}, "order"),
        ({"schema": {"type": "integer"}}, "schema"),
    ],
)
def test_what_no_server_can_be_asked_for_is_refused_before_it_is_queued(
    owner: User, client: Client, settings: Any, more: dict[str, Any], field: str
) -> None:
    settings.ENGINE_URL = "http://127.0.0.1:9/v1"
    client.force_login(owner)
    body = {"kind": "generate", "input": {"prompt": "a b c", **more}}
    api = client.post("/api/v1/runs", body, content_type="application/json")
    assert (api.status_code, api.json()["code"]) == (422, "not_remote")
    assert field in str(api.json())
    assert not Run.objects.exists()


def test_a_run_that_looked_inside_is_neither_replayed_nor_forked_on_a_server(
    owner: User, settings: Any
) -> None:
    run = Run.objects.create(owner=owner, kind="next-token", input={"prompt": "a"}, state="succeeded")
    settings.ENGINE_URL = "http://127.0.0.1:9/v1"
    with pytest.raises(CannotReplay, match="works with a local model"):
        run_replay(run, owner)
    with pytest.raises(CannotShare, match="works with a local model"):
        run_fork(run, owner)


def test_a_pin_is_not_asked_of_a_server(owner: User, client: Client, settings: Any) -> None:
    settings.ENGINE_URL = "http://127.0.0.1:9/v1"
    client.force_login(owner)
    pin = Pin.objects.create(owner=owner, name="n", body={"prompts": ["a"], "sampling": {}, "trials": 4})
    page = client.post(f"/playground/drift/{pin.pk}/run/", {"idempotency_key": "k"})
    assert page.status_code == 422 and "works with a local model" in page.content.decode()
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("attention", {"prompt": "a b c", "layer": 0}),
        ("next-token", {"prompt": "a b c", "continue_ids": []}),
        ("generate", {"prompt": "a b c", "regex": "x+", "sampling": {"max_tokens": 4}}),
    ],
)
def test_what_needs_the_model_itself_is_refused_with_the_reason(
    worker: Worker, owner: User, kind: str, body: dict[str, Any]
) -> None:
    run = done(worker, owner, kind, body)
    assert run.state == "failed"
    assert "needs the local model" in run.reason or "works without ENGINE_URL" in run.reason
