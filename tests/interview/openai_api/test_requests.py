"""What is asked for in OpenAI's words, and how it is refused: without a model, without a queue."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.test import Client

from interview.accounts.models import User
from interview.accounts.services import token_create
from interview.openai_api.bodies import parse_body
from interview.openai_api.envelope import answer_so_far, call_so_far
from interview.openai_api.errors import Refused
from interview.openai_api.follow import outcome
from interview.openai_api.translate import run_input
from interview.runs.connection import client as redis
from interview.runs.models import Run
from interview.runs.selectors import PRESENCE_KEY
from interview.runs.services import run_claim, run_fail
from tests.factories import make_run

MODEL = "smollm2-135m-instruct"
USER = {"role": "user", "content": "Hello"}
BODY: dict[str, Any] = {"model": MODEL, "messages": [USER]}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get-weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def made(**changes: Any) -> dict[str, Any]:
    return run_input(parse_body(json.dumps({**BODY, **changes}).encode()))


@pytest.fixture
def secret(owner: User) -> str:
    return token_create(owner=owner, name="tests")[1]


def post(body: object, secret: str = "", path: str = "/v1/chat/completions") -> HttpResponse:
    raw = body if isinstance(body, bytes) else json.dumps(body)
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return Client(enforce_csrf_checks=True).post(path, raw, content_type="application/json", headers=headers)  # type: ignore[return-value]


def test_the_defaults_are_openais() -> None:
    body = made()
    assert body["sampling"] | {"stop": []} == {
        "temperature": 1.0,
        "top_p": 1.0,
        "max_tokens": 512,
        "stop": [],
        "logprobs": 0,
    }
    assert body["messages"] == [USER]


def test_every_parameter_reaches_the_engine() -> None:
    sampling = made(
        temperature=0, top_p=0.5, max_completion_tokens=9, stop="x", seed=-1, logprobs=True, top_logprobs=3,
        frequency_penalty=0.5, presence_penalty=-0.5, logit_bias={"7": -100}, top_k=4, min_p=0.1,
        repetition_penalty=1.1,
    )["sampling"]  # fmt: skip
    assert sampling["stop"] == ["x"]
    assert (sampling["seed"], sampling["max_tokens"], sampling["logprobs"]) == (2**63 - 1, 9, 3)
    assert sampling["logit_bias"] == {"7": -100}
    assert (sampling["top_k"], sampling["min_p"], sampling["repetition_penalty"]) == (4, 0.1, 1.1)


def test_earlier_calls_and_results_are_told_as_they_were() -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "get-weather", "arguments": '{"city":"Bern"}'},
    }
    messages = [
        {
            "role": "developer",
            "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}],
        },
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "12", "tool_call_id": "call_1"},
    ]
    assert [(m["role"], m["content"]) for m in made(messages=messages)["messages"]] == [
        ("system", "Be brief."),
        ("user", "Hello"),
        ("assistant", '{"name": "get-weather", "arguments": {"city": "Bern"}}'),
        ("tool", "12"),
    ]


def test_a_required_call_leaves_no_way_to_answer() -> None:
    body = made(tools=[WEATHER], tool_choice="required")
    assert [list(option["properties"]) for option in body["schema"]["anyOf"]] == [["name", "arguments"]]
    assert "schema" not in made(tools=[WEATHER])
    assert "tools" not in made(tools=[WEATHER], tool_choice="none")


SCHEMA = {
    "type": "json_schema",
    "json_schema": {"name": "a", "schema": {"type": "array", "uniqueItems": True}},
}
LOOP: dict[str, Any] = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        (b"{", "invalid_json", None),
        (b'{"model": "m", "messages": [{"role": "user", "content": "a"}], "top_p": NaN}', "invalid_value", "top_p"),
        ([], "invalid_value", None),
        ({"model": MODEL}, "invalid_value", "messages"),
        ({**BODY, "messages": []}, "invalid_value", "messages"),
        ({**BODY, "messages": [{"role": "king", "content": ""}]}, "invalid_value", "messages[0].role"),
        ({**BODY, "messages": [{"role": "user"}]}, "invalid_value", "messages[0].content"),
        ({**BODY, "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "invalid_value", "messages[0].content"),
        ({**BODY, "temperature": 3}, "invalid_value", "temperature"),
        ({**BODY, "temperature": "1"}, "invalid_value", "temperature"),
        ({**BODY, "temperature": 1e-40}, "invalid_sampling", "temperature"),
        ({**BODY, "repetition_penalty": 1e-44}, "invalid_sampling", "repetition_penalty"),
        ({**BODY, "n": 9}, "invalid_value", "n"),
        ({**BODY, "max_tokens": 0}, "invalid_value", "max_tokens"),
        ({**BODY, "stop": ["a"] * 5}, "invalid_value", "stop"),
        ({**BODY, "top_logprobs": 2}, "invalid_value", "top_logprobs"),
        ({**BODY, "logprobs": True, "top_logprobs": 21}, "invalid_value", "top_logprobs"),
        ({**BODY, "n": 0}, "invalid_value", "n"),
        ({**BODY, "max_completion_tokens": 0}, "invalid_value", "max_completion_tokens"),
        ({**BODY, "stream_options": {"include_usage": True}}, "invalid_value", "stream_options"),
        ({**BODY, "stream": True, "stream_options": {"all": True}}, "unknown_parameter", "stream_options.all"),
        ({**BODY, "messages": [{"role": "assistant", "content": "a", "annotations": [{}]}]}, "invalid_value", "messages[0].annotations"),
        ({**BODY, "tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "x"}}}, "invalid_value", "tool_choice"),
        ({**BODY, "tool_choice": "required"}, "invalid_value", "tool_choice"),
        ({**BODY, "logit_bias": {"x": 1}}, "invalid_sampling", "logit_bias"),
        ({**BODY, "logit_bias": {"99999999": 5}}, "invalid_sampling", "logit_bias"),
        ({**BODY, "messages": [{"role": "user", "content": "word " * 9000}]}, "context_length_exceeded", "messages"),
        ({**BODY, "audio": {}}, "unknown_parameter", "audio"),
        ({**BODY, "response_format": {"type": "json_schema"}}, "invalid_value", "response_format.json_schema"),
        ({**BODY, "response_format": SCHEMA}, "unsupported_schema", "response_format"),
        ({**BODY, "response_format": {**SCHEMA, "json_schema": {"name": "a", "schema": LOOP}}}, "invalid_schema", "response_format"),
        ({**BODY, "tools": [{"type": "function", "function": {"name": "a b"}}]}, "invalid_tools", "tools"),
        ({**BODY, "tools": [WEATHER, WEATHER]}, "invalid_tools", "tools"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(secret: str, body: object, code: str, param: str | None) -> None:
    response = post(body, secret)
    error = json.loads(response.content)["error"]
    assert response.status_code == 400, error
    assert error["code"] == code, error
    assert (error["param"] or "").startswith(param or ""), error
    assert error["type"] == "invalid_request_error" and error["message"]
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stop": ["a"] * 5}, "stop: List should have at most 4 items"),
        ({"stop": 3}, "stop: Input should be a valid string"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "[0].type: Input should be 'text'"),
    ],
)  # fmt: skip
def test_of_alternatives_the_nearest_is_told(secret: str, changes: Any, words: str) -> None:
    assert words in json.loads(post({**BODY, **changes}, secret).content)["error"]["message"]


def test_an_answer_of_another_server_can_be_handed_back() -> None:
    earlier: dict[str, Any] = {
        "role": "assistant",
        "content": "Red.",
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        "tool_calls": None,
    }
    assert made(messages=[{"role": "user", "content": "a"}, earlier])["messages"][1] == {
        "role": "assistant",
        "content": "Red.",
    }


@pytest.mark.parametrize(
    ("error", "status", "code", "param"),
    [
        ({"code": "invalid_sampling", "field": "logit_bias"}, 400, "invalid_sampling", "logit_bias"),
        ({"code": "prompt_too_long", "field": "messages"}, 400, "context_length_exceeded", "messages"),
        ({"code": "unsupported_schema", "field": "schema"}, 400, "unsupported_schema", "response_format"),
        ({"code": "engine_closed"}, 500, "engine_closed", None),
        ("lost", 500, "run_failed", None),
    ],
)
def test_what_the_engine_refuses_is_the_callers_fault(
    owner: User, error: object, status: int, code: str, param: str | None
) -> None:
    run = run_claim(str(make_run(owner, kind="chat").pk), worker="test")
    assert run is not None and run_fail(run, "what the engine says", {"error": error})
    with pytest.raises(Refused) as found:
        async_to_sync(outcome)(run)
    assert (found.value.status, found.value.code, found.value.param) == (status, code, param)


def test_a_schema_of_a_megabyte_is_refused(secret: str) -> None:
    big = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(35_000)}}
    wanted = {"type": "json_schema", "json_schema": {"name": "big", "schema": big}}
    response = post({**BODY, "response_format": wanted}, secret)
    assert (response.status_code, json.loads(response.content)["error"]["code"]) == (400, "schema_too_large")


def test_a_body_over_the_limit_is_413(secret: str) -> None:
    response = post({**BODY, "user": "x" * 5_000_000}, secret)
    assert (response.status_code, json.loads(response.content)["error"]["code"]) == (413, "request_too_large")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [("/v1/embeddings", 404, "unknown_url"), ("/v1/models", 405, "method_not_allowed")],
)
def test_other_addresses_answer_in_the_same_shape(secret: str, path: str, status: int, code: str) -> None:
    response = post(BODY, secret, path)
    assert (response.status_code, json.loads(response.content)["error"]["code"]) == (status, code)


@pytest.mark.parametrize("given", ["", "prefill_wrong"])
def test_without_a_good_token_it_is_401(db: None, given: str) -> None:
    response = post(BODY, given)
    assert response.status_code == 401
    assert json.loads(response.content)["error"]["code"] == "invalid_api_key"


def test_a_session_is_no_token(owner_client: Client) -> None:
    assert owner_client.post("/v1/chat/completions", BODY, content_type="application/json").status_code == 401


def test_an_unknown_model_is_404(secret: str) -> None:
    response = post({**BODY, "model": "gpt-5"}, secret)
    assert (response.status_code, json.loads(response.content)["error"]["code"]) == (404, "model_not_found")


def test_without_a_worker_it_is_503(secret: str) -> None:
    response = post(BODY, secret)
    assert (response.status_code, json.loads(response.content)["error"]["code"]) == (503, "no_worker")
    assert response.headers["Retry-After"]


def test_over_quota_is_429(owner: User, secret: str, settings: Any) -> None:
    redis().hset(PRESENCE_KEY, "host:1", json.dumps({"at": time.time(), "ready": True, "jobs": 0}))
    settings.RUN_QUEUE_LIMIT = 1
    make_run(owner)
    response = post(BODY, secret)
    assert (response.status_code, json.loads(response.content)["error"]["code"]) == (
        429,
        "rate_limit_exceeded",
    )
    assert json.loads(response.content)["error"]["type"] == "rate_limit_error"


CALL = '{"name": "get-weather", "arguments": {"city": "a}\\"b", "at": {"x": 1}}}'
ANSWER = '{"answer": "a \\"quoted\\" \\ud83d\\ude00 line\\n"}'


def test_a_call_is_read_while_it_is_written() -> None:
    seen = ""
    for end in range(len(CALL) + 1):
        found = call_so_far(CALL[:end], whole=False)
        if found is not None:
            assert found[0] == "get-weather"
            assert found[1].startswith(seen)
            seen = found[1]
    whole = call_so_far(CALL, whole=True)
    assert whole is not None and whole[1].startswith(seen)
    assert json.loads(whole[1]) == {"city": 'a}"b', "at": {"x": 1}}


def test_an_answer_is_read_while_it_is_written() -> None:
    seen = ""
    for end in range(len(ANSWER) + 1):
        found = answer_so_far(ANSWER[:end])
        if found is not None:
            assert found.startswith(seen), end
            seen = found
    assert seen == json.loads(ANSWER)["answer"]
    assert answer_so_far(CALL) is None
