"""Drift: what is pinned gives the same tokens again; noise is told from a change of model."""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client

from engine import Request, Sampling
from engine.llm import Engine
from interview.accounts.models import User
from interview.playground.drift.form import EXAMPLE, PinForm
from interview.playground.drift.seen import compare
from interview.playground.models import Pin
from interview.runs.models import Run
from tests.interview.playground.conftest import Execute

pytestmark = pytest.mark.django_db
URL = "/playground/drift/"
SENT = {
    "name": "Short",
    "prompts": EXAMPLE,
    "temperature": "0.7",
    "top_p": "0.9",
    "max_tokens": "8",
    "trials": "6",
}
BODY: dict[str, Any] = {
    "prompts": ["Name a colour.", "Is a whale a fish?"],
    "sampling": {"temperature": 0.8, "top_p": 0.9, "max_tokens": 6},
    "trials": 5,
}


@pytest.fixture
def pin(owner: User) -> Pin:
    return Pin.objects.create(owner=owner, name="Short", body=BODY)


def asked(owner: User, execute: Execute, pin: Pin, seed: int) -> Run:
    return execute(owner, "drift", {"pin": pin.pk, **pin.body, "seed": seed}).run


def test_an_unchanged_model_replays_token_for_token(
    owner: User, owner_client: Client, pin: Pin, execute: Execute
) -> None:
    first, second = asked(owner, execute, pin, 5000), asked(owner, execute, pin, 6000)
    found = compare(first.output or {}, second.output or {})
    assert found.parted == 0 and found.replays == 6 and found.changed == []
    assert found.verdict in ("noise", "chance")
    assert [len(one["answers"]) for one in (first.output or {})["prompts"]] == [5, 5]
    page = owner_client.get(f"{URL}{pin.pk}/").content.decode()
    assert "Model file, application, device and threads are the same." in page
    third = asked(owner, execute, pin, 5000)
    assert compare(first.output or {}, third.output or {}).odds == 1


def changed(
    output: dict[str, Any], *, tokens: bool = False, answers: bool = False, model: bool = False
) -> dict[str, Any]:
    other: dict[str, Any] = {
        "machine": dict(output["machine"]),
        "prompts": [dict(one) for one in output["prompts"]],
    }
    if model:
        other["machine"]["sha256"] = "another"
    for one in other["prompts"]:
        if tokens:
            one["replays"] = [[*replay[:2], 7, *replay[3:]] for replay in one["replays"]]
        if answers:
            one["answers"] = [f"other {n}" for n in range(len(one["answers"]))]
    return other


def output(answers: int = 8) -> dict[str, Any]:
    one = {
        "prompt": "p",
        "replays": [[1, 2, 3, 4]] * 3,
        "replay_texts": [],
        "computed": [[1, 0]] * 3,
        "answers": ["yes"] * answers,
    }
    names = ("name", "revision", "sha256", "weight_format", "app", "device", "threads")
    return {"machine": dict.fromkeys(names, "x"), "prompts": [one, dict(one)]}


@pytest.mark.parametrize(
    ("change", "verdict", "parted"),
    [
        ({}, "noise", None),
        ({"tokens": True}, "silent", 2),
        ({"answers": True}, "chance", None),
        ({"answers": True, "tokens": True}, "real", 2),
        ({"answers": True, "model": True}, "real", None),
    ],
)
def test_the_verdict(change: dict[str, bool], verdict: str, parted: int | None) -> None:
    found = compare(output(), changed(output(), **change))
    assert (found.verdict, found.rows[0].parted) == (verdict, parted)
    assert bool(found.changed) == change.get("model", False)


@pytest.mark.parametrize("computed", [[[2, 0]] * 3, [[1, 128]] * 3, None])
def test_company_or_another_prefix_is_no_alarm(computed: list[list[int]] | None) -> None:
    moved = changed(output(), tokens=True)
    for one in moved["prompts"]:
        if computed is None:
            del one["computed"]
        else:
            one["computed"] = computed
    found = compare(output(), moved)
    assert (found.verdict, found.parted, found.shared) == ("company", 0, 2)
    told = render_to_string("playground/_comparison.html", {"comparison": found})
    assert "equality is not expected" in told and "Something changed" not in told
    assert compare(output(), changed(moved, answers=True)).verdict == "chance"


def test_short_pins_asked_again_on_a_busy_engine_raise_no_alarm(
    owner: User, execute: Execute, engine: Engine
) -> None:
    """Prompts of few tokens, and one over a chunk, whose beginning the prefix cache holds the second time."""
    long = " ".join(["Tell in one word what the sky looks like today and why."] * 14)
    body = {
        "prompts": ["Say hi", "Name a colour", long],
        "sampling": {"temperature": 0.7, "top_p": 0.9, "max_tokens": 4},
        "trials": 4,
    }
    pin = Pin.objects.create(owner=owner, name="Short", body=body)
    runs = [asked(owner, execute, pin, seed) for seed in (5000, 6000)]
    busy = [Request(prompt=f"Traffic {n}. " * n, sampling=Sampling(max_tokens=8)) for n in range(1, 12)]
    for handle in [engine.submit(one) for one in busy]:
        handle.result()
    runs.append(asked(owner, execute, pin, 7000))
    first = runs[0].output or {}
    for run in runs[1:]:
        again = run.output or {}
        assert [one["replays"] for one in again["prompts"]] == [one["replays"] for one in first["prompts"]]
        assert {size for one in again["prompts"] for size, _ in one["computed"]} == {1}
        found = compare(first, again)
        assert (found.parted, found.shared) == (0, 0) and found.verdict in ("noise", "chance")
    assert compare(first, runs[1].output or {}).verdict == "noise"


def test_many_different_answers_are_said_to_hide_a_change() -> None:
    assert not compare(output(), output()).is_blind
    one = output()
    for place, asked_one in enumerate(one["prompts"]):
        asked_one["answers"] = [f"word {place} {n}" for n in range(8)]
    assert compare(one, changed(one, answers=True)).is_blind
    moved = changed(one)
    for asked_one in moved["prompts"]:
        asked_one["answers"] = [f"another {n}" for n in range(8)]
    assert compare(one, moved).odds < 0.05, "first words show it all the same"


def test_a_pin_is_made_asked_and_forgotten(owner_client: Client) -> None:
    location = owner_client.post(URL, SENT).headers["Location"]
    pin = Pin.objects.get()
    assert pin.body["prompts"] == EXAMPLE.split("\n") and pin.body["sampling"]["max_tokens"] == 8
    assert "No run yet" in owner_client.get(location).content.decode()
    for _ in range(2):
        assert owner_client.post(f"{location}run/", {"idempotency_key": "k"}).status_code == 302
    run = Run.objects.get()
    assert run.kind == "drift" and run.input["pin"] == pin.pk and run.input["trials"] == 6
    page = owner_client.get(location).content.decode()
    assert "data-run-events" in page and "Stop" in page
    part = owner_client.get(location, headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith('<div id="run"')
    assert owner_client.post(f"{location}delete/").headers["Location"] == URL
    assert not Pin.objects.exists() and Run.objects.count() == 1


def test_over_quota_says_so(owner_client: Client, pin: Pin, settings: Any) -> None:
    settings.RUN_QUEUE_LIMIT = 1
    owner_client.post(f"{URL}{pin.pk}/run/", {"idempotency_key": "a"})
    response = owner_client.post(f"{URL}{pin.pk}/run/", {"idempotency_key": "b"})
    assert response.status_code == 429 and "cancel one" in response.content.decode()


@pytest.mark.parametrize(
    ("name", "value"),
    [("name", "\u200b"), ("prompts", "\n\u200b\n"), ("prompts", "\n".join("abcdefg")), ("prompts", "x" * 501), ("temperature", "6"),
     ("top_p", "0"), ("max_tokens", "65"), ("trials", "3"), ("trials", "21")],
)  # fmt: skip
def test_a_bad_value_is_named_and_the_rest_kept(owner_client: Client, name: str, value: str) -> None:
    response = owner_client.post(URL, {**SENT, name: value})
    assert response.status_code == 422 and response.context["form"].errors[name]
    assert not Pin.objects.exists()


def test_answers_in_all_are_bounded() -> None:
    form = PinForm({**SENT, "prompts": "a\nb\nc\nd", "trials": "16"})
    assert (
        not form.is_valid()
        and "64 trials" not in str(form.errors)
        and "60 answers" in str(form.errors["trials"])
    )


def test_nobody_else_sees_or_asks_it(pin: Pin, other_client: Client, anonymous_client: Client) -> None:
    for client in (other_client, anonymous_client):
        assert client.get(f"{URL}{pin.pk}/").status_code == 404
        assert client.post(f"{URL}{pin.pk}/run/").status_code == 404
        assert client.post(f"{URL}{pin.pk}/delete/").status_code == 404
        assert client.get(URL).status_code == 200
    assert not Run.objects.exists()
