"""The official `openai` client, unchanged, against the running site: what works, and which of its errors it raises."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

import jsonschema
import openai
import pytest

from tests.e2e.conftest import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MODEL = "smollm2-135m-instruct"
HELLO: Any = [{"role": "user", "content": "Name three colours."}]
COLOUR = {
    "type": "object",
    "properties": {
        "colour": {"enum": ["red", "green", "blue"]},
        "strength": {"type": "integer", "maximum": 9},
    },
    "required": ["colour", "strength"],
    "additionalProperties": False,
}
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get-weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
TOKEN = """
from interview.accounts.models import User
from interview.accounts.services import token_create
print(token_create(owner=User.objects.get(email="learner@example.org"), name="client")[1])
"""
STATES = "from interview.runs.models import Run; print(*Run.objects.filter(kind='chat').values_list('state', flat=True)[:1])"


@pytest.fixture(scope="module")
def client(site: Site) -> openai.OpenAI:
    """A client with a personal token of the demo learner."""
    secret = site.manage("shell", "-v0", "-c", TOKEN).strip().splitlines()[-1]
    return openai.OpenAI(base_url=f"{site.url}/v1", api_key=secret, max_retries=0, timeout=60)


def ask(client: openai.OpenAI, **changes: Any) -> Any:
    return client.chat.completions.create(**{"model": MODEL, "messages": HELLO, "max_tokens": 24, **changes})


def test_the_model_is_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).owned_by == "prefill"


def test_a_completion_with_choices_seeds_and_usage(client: openai.OpenAI) -> None:
    first = ask(client, n=3, seed=11)
    assert [choice.index for choice in first.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in first.choices}) > 1, "each choice has a seed of its own"
    assert first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens
    again = ask(client, n=3, seed=11)
    assert [c.message.content for c in again.choices] == [c.message.content for c in first.choices]
    assert again.system_fingerprint == first.system_fingerprint


def test_a_stream_says_what_the_whole_would(client: openai.OpenAI) -> None:
    whole = ask(client, temperature=0).choices[0]
    chunks = list(ask(client, temperature=0, stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == whole.message.content
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == whole.finish_reason
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens > 0
    assert len(chunks) > 4, "it came in pieces"
    assert len({c.id for c in chunks}) == 1


def test_stop_and_length_end_an_answer(client: openai.OpenAI) -> None:
    count: Any = [{"role": "user", "content": "Count: 1, 2, 3, 4, 5, 6, 7, 8"}]
    free = ask(client, messages=count, temperature=0, max_tokens=60).choices[0].message.content
    word = free.split()[5]
    stopped = ask(client, messages=count, temperature=0, stop=[word], max_tokens=60).choices[0]
    assert stopped.finish_reason == "stop" and stopped.message.content == free[: free.index(word)]
    assert ask(client, max_tokens=2).choices[0].finish_reason == "length"


def test_logprobs_are_probabilities(client: openai.OpenAI) -> None:
    choice = ask(client, temperature=0, logprobs=True, top_logprobs=4, max_tokens=6).choices[0]
    content = choice.logprobs.content
    assert "".join(entry.token for entry in content).strip() == choice.message.content.strip()
    for entry in content:
        assert len(entry.top_logprobs) == 4
        assert entry.logprob == max(top.logprob for top in entry.top_logprobs)
        assert sum(math.exp(top.logprob) for top in entry.top_logprobs) <= 1.0001
    streamed = ask(client, temperature=0, logprobs=True, max_tokens=6, stream=True)
    tokens = [
        e.token
        for c in streamed
        if c.choices and c.choices[0].logprobs
        for e in c.choices[0].logprobs.content
    ]
    assert tokens == [entry.token for entry in content]


def test_a_schema_is_kept(client: openai.OpenAI) -> None:
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "colour", "schema": COLOUR, "strict": True}}
    for seed in range(3):
        choice = ask(client, response_format=wanted, temperature=1.5, seed=seed, max_tokens=60).choices[0]
        jsonschema.validate(json.loads(choice.message.content), COLOUR)
    anything = ask(client, response_format={"type": "json_object"}, seed=1, max_tokens=200).choices[0]
    if anything.finish_reason == "stop":
        assert isinstance(json.loads(anything.message.content), dict)


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get-weather"}}])
def test_a_tool_is_called(client: openai.OpenAI, choice: Any) -> None:
    asked: dict[str, Any] = {
        "messages": [{"role": "user", "content": "What is the weather in Bern?"}],
        "tools": [WEATHER],
        "tool_choice": choice,
        "temperature": 0,
        "max_tokens": 60,
    }
    done = ask(client, **asked).choices[0]
    assert (done.finish_reason, done.message.content) == ("tool_calls", None)
    call = done.message.tool_calls[0]
    assert call.function.name == "get-weather"
    jsonschema.validate(json.loads(call.function.arguments), WEATHER["function"]["parameters"])
    pieces = [c.choices[0].delta.tool_calls[0] for c in ask(client, **asked, stream=True) if c.choices and c.choices[0].delta.tool_calls]  # fmt: skip
    assert pieces[0].function.name == "get-weather" and pieces[0].id.startswith("call_")
    assert "".join(piece.function.arguments for piece in pieces) == call.function.arguments
    told = [
        *asked["messages"],
        done.message,
        {"role": "tool", "tool_call_id": call.id, "content": "12 degrees"},
    ]
    answer = ask(client, messages=told, max_tokens=12).choices[0]
    assert answer.message.content


def test_the_model_may_answer_instead(client: openai.OpenAI) -> None:
    done = ask(client, tools=[WEATHER], temperature=0, max_tokens=80, seed=1)
    message = done.choices[0].message
    assert message.tool_calls or message.content is not None


@pytest.mark.parametrize(
    ("changes", "error", "code"),
    [
        ({"model": "gpt-5"}, openai.NotFoundError, "model_not_found"),
        ({"temperature": 9}, openai.BadRequestError, "invalid_value"),
        ({"extra_body": {"audio": {}}}, openai.BadRequestError, "unknown_parameter"),
        ({"messages": [{"role": "user", "content": "a b c d " * 4000}]}, openai.BadRequestError, "context_length_exceeded"),
    ],
)  # fmt: skip
def test_errors_are_the_clients_own(client: openai.OpenAI, changes: Any, error: Any, code: str) -> None:
    with pytest.raises(error) as caught:
        ask(client, **changes)
    assert caught.value.code == code


def test_a_wrong_token_is_an_authentication_error(client: openai.OpenAI) -> None:
    with pytest.raises(openai.AuthenticationError):
        ask(client.with_options(api_key="prefill_wrong"))


def until(check: Callable[[], bool], seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.1)
    return False


LONG: Any = {
    "messages": [{"role": "user", "content": "Tell a very long story."}],
    "max_tokens": 1900,
    "temperature": 1.5,
}


def test_a_client_that_hangs_up_cancels_its_run(site: Site, client: openai.OpenAI) -> None:
    with ask(client, **LONG, stream=True) as stream:
        for _ in range(3):
            next(iter(stream))
    assert until(lambda: site.manage("shell", "-v0", "-c", STATES).split() == ["cancelled"])
    with pytest.raises(openai.APITimeoutError):
        ask(client.with_options(timeout=1.0), **LONG)
    assert until(lambda: site.manage("shell", "-v0", "-c", STATES).split() == ["cancelled"])


def test_the_same_idempotency_key_is_the_same_run(client: openai.OpenAI) -> None:
    headers = {"Idempotency-Key": "one"}
    first = ask(client, extra_headers=headers)
    assert ask(client, extra_headers=headers).id == first.id
    chunks = list(ask(client, extra_headers=headers, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == first.choices[0].message.content
    with pytest.raises(openai.ConflictError):
        ask(client, extra_headers=headers, temperature=0)
