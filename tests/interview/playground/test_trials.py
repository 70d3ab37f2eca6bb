"""The trials page: one batch, seeds that are kept, answers counted, bad input named."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client

from engine import Request
from engine.llm import Engine
from interview.accounts.models import User
from interview.playground.trials.form import TWO_AND_TWO
from interview.playground.trials.kind import check, one_request
from interview.playground.trials.seen import settings_seen
from interview.runs.kinds import InputRefused, Job
from interview.runs.models import Run
from interview.runs.replay import first_difference, run_replay
from interview.runs.services import run_create
from tests.interview.playground.conftest import Execute, Loaded

pytestmark = pytest.mark.django_db
URL = "/playground/trials/"
GOOD = {**TWO_AND_TWO, "idempotency_key": "k", "trials": "3", "max_tokens": "8"}
BODY: dict[str, Any] = {
    "messages": [{"role": "user", "content": "What is 2 + 2?"}],
    "settings": [{"temperature": 0}, {"temperature": 1.5}],
    "trials": 6,
    "max_tokens": 10,
    "seed": 1,
    "check": {"rule": "contains", "text": "4"},
}


def test_trials_run_as_one_batch_and_each_is_what_it_is_alone(
    owner: User, engine: Engine, execute: Execute
) -> None:
    done = execute(owner, "trials", BODY)
    greedy, hot = done.output["settings"]
    assert greedy["parting"] is None and hot["parting"] is not None
    assert len({tuple(answer["tokens"]) for answer in greedy["answers"]}) == 1
    assert [answer["seed"] for answer in hot["answers"]] == [1, 2, 3, 4, 5, 6]
    assert done.output["usage"]["batch_size_mean"] > 3
    alone = engine.generate(one_request(BODY, BODY["settings"][1], 2))
    assert list(alone.token_ids) == hot["answers"][2]["tokens"]
    assert sum(n for _, n in hot["parting"]["ways"]) == 6
    assert done.events[-1] == ("progress", {"done": 12, "total": 12, "words": "12 of 12 answers"})
    shown = settings_seen(BODY, done.output)
    assert shown[0].distinct == 1 and shown[0].agreement == 1 and shown[0].against_first is None
    assert shown[1].distinct > 1 and shown[1].valid is not None and shown[1].against_first is not None
    assert shown[1].valid.value == sum(a["valid"] for a in hot["answers"]) / 6


def test_a_cancel_ends_every_trial(owner: User, engine: Engine) -> None:
    from interview.playground.trials.kind import trials

    run = run_create(owner=owner, kind="trials", input={**BODY, "max_tokens": 128, "trials": 20})

    def on_progress(name: str, data: dict[str, Any]) -> None:
        job.cancelled.set()
        job.halt()

    job = Job(run=run, models=Loaded(engine), emit=on_progress)
    output = trials(job)
    finishes = [answer["finish"] for one in output["settings"] for answer in one["answers"]]
    assert finishes.count("cancelled") >= 20
    deadline = time.monotonic() + 2
    while engine.stats()["running"] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert engine.stats()["running"] == 0


def test_the_preset_is_two_and_two_under_three_decodings(owner_client: Client) -> None:
    page = owner_client.get(URL).content.decode()
    assert "What is 2 + 2?" in page
    owner_client.post(URL, GOOD)
    body = Run.objects.get().input
    assert [s["temperature"] for s in body["settings"]] == [0, 0.7, 1.5]
    assert [s["top_p"] for s in body["settings"]] == [1, 0.9, 1]
    assert check(body) == body
    again = owner_client.get(URL, {"run": str(Run.objects.get().pk)})
    assert again.context["form"]["temperature_2"].value() == 0.7


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"prompt": "\u200b"}, "prompt"),
        ({"trials": "1"}, "trials"),
        ({"trials": "40"}, "trials"),
        ({"max_tokens": "129"}, "max_tokens"),
        ({"temperature_1": "-1"}, "temperature_1"),
        ({"temperature_4": "warm"}, "temperature_4"),
        ({"top_p_2": "0"}, "top_p_2"),
        ({"top_k_1": "1.5"}, "top_k_1"),
        ({"wanted": " "}, "wanted"),
        ({"rule": "number", "wanted": "four"}, "wanted"),
        ({"rule": "vibes"}, "rule"),
        ({"temperature_1": "", "temperature_2": "", "top_p_2": "", "temperature_3": ""}, "__all__"),
    ],
)
def test_a_bad_value_is_named_and_the_rest_kept(
    owner_client: Client, change: dict[str, str], field: str
) -> None:
    response = owner_client.post(URL, {**GOOD, **change})
    assert response.status_code == 422 and field in response.context["form"].errors
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "change",
    [{"settings": []}, {"settings": [{"temperature": 0}] * 5}, {"settings": [{"heat": 1}]}, {"settings": [{"temperature": -1}]},
     {"trials": 51}, {"trials": True}, {"max_tokens": 0}, {"seed": -1}, {"check": {"rule": "x", "text": ""}}, {"check": None},
     {"check": {"rule": "equals", "text": ""}}, {"check": {"rule": "number", "text": "four"}}, {"schema": {}}, {"messages": []}, {"messages": [{"role": "user", "content": " "}]}, {"extra": 1}],
)  # fmt: skip
def test_the_api_refuses_what_it_cannot_read(change: dict[str, Any]) -> None:
    with pytest.raises(InputRefused):
        check({**BODY, **change})


def test_three_personas_and_inert_answers(
    owner: User, owner_client: Client, other_client: Client, anonymous_client: Client, execute: Execute
) -> None:
    raw = {k: v for k, v in BODY.items() if k != "messages"} | {"prompt": "<b>hi</b> <script>", "trials": 2}
    run = execute(owner, "trials", raw).run
    page = owner_client.get(URL, {"run": str(run.pk)}).content.decode()
    assert "distinct answers" in page and "<script>" not in page and "<b>" not in page
    for client in (other_client, anonymous_client):
        assert client.get(URL, {"run": str(run.pk)}).status_code == 404
    assert anonymous_client.post(URL, GOOD).status_code == 302


def test_requests_differ_by_seed_and_setting_alone() -> None:
    first, later = one_request(BODY, BODY["settings"][1], 0), one_request(BODY, BODY["settings"][1], 4)
    assert isinstance(first, Request) and first.sampling.seed == 1 and later.sampling.seed == 5


def test_a_replay_gives_the_same_tokens(owner: User, execute: Execute) -> None:
    first = execute(owner, "trials", {**BODY, "trials": 3})
    again = run_replay(first.run, owner)
    Run.objects.filter(pk=again.pk).update(state="running", attempt=1)
    second = execute(owner, "trials", again.input)
    before, after = first.run.trace.body, second.run.trace.body
    assert len(before["choices"]) == 6 and first_difference(before, after) is None
