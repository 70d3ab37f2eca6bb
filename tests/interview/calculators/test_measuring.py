"""Predictions held against the real local model: what must be equal is equal, the rest is near."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from engine.llm import Engine
from interview.accounts.models import User
from interview.calculators import kinds
from interview.calculators.formulas.parameters import parse
from interview.calculators.formulas.registry import find
from interview.runs.kinds import InputRefused, Job, RunFailed
from interview.runs.models import Run
from interview.runs.services import run_claim, run_create, run_succeed
from tests.factories import make_run

ADDRESS = "/calculators/kv-cache/"
MEASURED = "/calculators/measured/?run="


def measured(engine: Engine, slug: str, query: str = "", **more: str) -> dict[str, Any]:
    """The output of a measurement on the real engine."""
    body = kinds.check({"calculator": slug, "query": query, **more})
    models: Any = SimpleNamespace(engine=engine)
    job = Job(run=Run(kind="measure", input=body), models=models, emit=lambda event, data: None)
    output = kinds.execute(job)
    assert job.trace["model"]["name"] == engine.card.name and job.trace["proof"]["rows"] == output["rows"]
    return output


def rows_of(output: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["label"]: row for row in output["rows"]}


@pytest.mark.parametrize(
    "query",
    [
        "tokens=16",
        "tokens=137&sequences=3",
        "tokens=300&sequences=2&model=own&layers=1&kv_heads=1&head_dim=1",
    ],
)
def test_the_cache_takes_the_bytes_predicted(engine: Engine, query: str) -> None:
    rows = rows_of(measured(engine, "kv-cache", query))
    for label in ("Bytes a token", "Bytes of one sequence", "Bytes of all sequences"):
        assert rows[label]["predicted"] == rows[label]["measured"] > 0
    wrong = rows["Counted with the query heads instead"]
    assert wrong["predicted"] == 3 * wrong["measured"]  # 9 query heads, 3 KV heads


@pytest.mark.parametrize(
    "query",
    [
        "",
        "text=caf%C3%A9%20%F0%9F%91%8B%20%3C%7Cim_end%7C%3E",
        "text=%3C%7Cim_end%7C%3E&special=control",
        "text=user:%20hi%20%3C%7Cim_end%7C%3E&chat=1",
    ],
)
def test_the_model_reads_the_tokens_counted(engine: Engine, query: str) -> None:
    rows = rows_of(measured(engine, "tokens", query))
    assert all(row["predicted"] == row["measured"] for row in rows.values()) and len(rows) == 2


def test_a_text_beyond_the_context_is_told_so(engine: Engine) -> None:
    with pytest.raises(RunFailed, match="context"):
        measured(engine, "tokens", f"text={'word%20' * 9000}")
    with pytest.raises(RunFailed, match="no text"):
        measured(engine, "tokens", "text=")


def test_every_number_in_the_file_is_predicted(engine: Engine) -> None:
    rows = rows_of(measured(engine, "parameters"))
    exact = [row for row in rows.values() if row["kind"] == "exact"]
    assert len(exact) == 6 and all(row["predicted"] == row["measured"] for row in exact)
    assert rows["All parameters"]["measured"] == 134_515_008


def test_a_request_takes_no_less_than_the_roofline_says(engine: Engine) -> None:
    rows = rows_of(measured(engine, "latency", "prompt=200&output=16"))
    assert rows["First token"]["measured"] > 0.5 * rows["First token"]["predicted"] > 0
    assert rows["Memory reads of this machine"]["measured"] > 1e8


def test_doubling_a_prompt_costs_more_than_twice_in_flops(engine: Engine) -> None:
    rows = rows_of(measured(engine, "attention", "tokens=128"))
    pairs = rows["Pairs that one head of 30 layers scores over 128 tokens"]
    assert pairs["predicted"] == pairs["measured"] == 30 * 128 * 129 // 2
    row = rows["Doubling the prompt takes"]
    assert 2 < row["predicted"] < 2.2
    assert 1 < row["measured"] < 8  # time on a shared machine: the order of magnitude


@pytest.mark.parametrize(
    "query",
    ["", "temperature=0.6&top_k=12&top_p=0.9&draws=4000", "temperature=2&min_p=0.1&order=temperature_last"],
)
def test_draws_follow_the_formula(engine: Engine, query: str) -> None:
    rows = rows_of(measured(engine, "sampling", query, prompt="The capital of France is"))
    chi = rows.pop("Chi-square")
    # Seeded draws: a fixed number, far inside the six deviations that would mean another distribution.
    assert chi["measured"] < chi["predicted"] + 6 * (2 * chi["predicted"]) ** 0.5 + 1
    assert sum(row["measured"] for row in rows.values()) == pytest.approx(1)
    assert sum(row["predicted"] for row in rows.values()) == pytest.approx(1)


def test_greedy_draws_one_token(engine: Engine) -> None:
    rows = rows_of(measured(engine, "sampling", "temperature=0&draws=50"))
    assert max(row["measured"] for row in rows.values() if row["kind"] == "close") == 1


def test_drafts_change_no_token_and_save_passes(engine: Engine) -> None:
    rows = rows_of(measured(engine, "speculative", "draft=4"))
    assert rows["Tokens that differ from the run without drafts"]["measured"] == 0
    assert rows["Tokens a pass over the whole answer"]["measured"] > 1.2
    assert 1 <= rows["Tokens a drafted pass gives"]["predicted"] <= 5


def test_a_prompt_without_repetition_is_told_so(engine: Engine) -> None:
    with pytest.raises(RunFailed, match="Nothing was drafted"):
        measured(engine, "speculative", "", prompt="What is 2+2?")


def test_a_stopped_measurement_ends(engine: Engine) -> None:
    body = kinds.check({"calculator": "kv-cache", "query": "tokens=64"})
    models: Any = SimpleNamespace(engine=engine)
    job = Job(run=Run(kind="measure", input=body), models=models, emit=lambda event, data: None)
    job.cancelled.set()
    assert kinds.execute(job) == {"plan": {"tokens": 64, "sequences": 1}}


@pytest.mark.parametrize("slug", list(kinds.MEASURES))
def test_plans_are_bounded(slug: str) -> None:
    calculator = find(slug)
    most = {p.name: str(int(p.high)) for p in calculator.parameters if p.kind == "whole" and not p.group}
    plan = kinds.MEASURES[slug].plan(parse(calculator.inputs, most))
    assert all(value <= 20_000 for value in plan.values() if not isinstance(value, str | bool))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"calculator": "cost", "query": ""},
        {"calculator": 7, "query": ""},
        {"calculator": "kv-cache", "query": "tokens=x"},
        {"calculator": "kv-cache", "query": 5},
        {"calculator": "sampling", "query": "", "prompt": "x" * 5000},
        {"calculator": "kv-cache", "query": "", "shell": "x"},
    ],
)
def test_what_cannot_be_measured_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(InputRefused):
        kinds.check(body)


@pytest.mark.django_db
class TestPages:
    """Asking for a measurement and reading it."""

    def start(self, client: Client, **headers: str) -> Any:
        data = {"query": "v=1&tokens=64&sequences=2"}
        return client.post(f"{ADDRESS}measure/", data, headers=headers)

    def test_a_visitor_queues_one_and_sees_where_it_stands(self, anonymous_client: Client) -> None:
        answer = self.start(anonymous_client)
        run = Run.objects.get()
        assert answer["Location"] == f"{MEASURED}{run.pk}" and run.owner.is_guest
        assert run.input == {"calculator": "kv-cache", "query": "v=1&tokens=64&sequences=2"}
        page = anonymous_client.get(answer["Location"]).content.decode()
        assert 'value="64"' in page and "queued" in page and 'http-equiv="refresh"' in page

    def test_the_script_gets_the_fragment(self, owner_client: Client) -> None:
        answer = self.start(owner_client, **{"HX-Request": "true"})
        assert b'id="proof"' in answer.content and b"<html" not in answer.content

    def test_predicted_and_measured_stand_side_by_side(self, owner: User, owner_client: Client) -> None:
        run = run_create(owner=owner, kind="measure", input={"calculator": "kv-cache", "query": "v=1"})
        claimed = run_claim(str(run.pk), worker="test")
        rows = [
            {
                "label": "Bytes",
                "unit": "bytes",
                "predicted": 46080,
                "measured": 46080,
                "kind": "exact",
                "note": "",
            },
            {
                "label": "Time",
                "unit": "s",
                "predicted": 0.5,
                "measured": 1.0,
                "kind": "close",
                "note": "busy",
            },
        ]
        assert claimed and run_succeed(
            claimed, {"rows": rows, "setting": "two rows", "notes": ["a note"]}, {}
        )
        page = owner_client.get(f"{MEASURED}{run.pk}").content.decode()
        assert "equal" in page and "× 2" in page and "a note" in page and "busy" in page
        assert f"{MEASURED}{run.pk}" in owner_client.get(f"/runs/{run.pk}/").content.decode()

    def test_somebody_elses_is_not_there(
        self, owner: User, other_client: Client, anonymous_client: Client
    ) -> None:
        run = run_create(owner=owner, kind="measure", input={"calculator": "kv-cache", "query": "v=1"})
        for client in (other_client, anonymous_client):
            assert client.get(f"{MEASURED}{run.pk}").status_code == 404

    def test_another_kinds_run_is_not_there(self, owner: User, owner_client: Client) -> None:
        for run in (make_run(owner).pk, uuid.uuid4(), "x", ""):
            assert owner_client.get(f"{MEASURED}{run}").status_code == 404

    def test_refusals_say_why(self, owner_client: Client, settings: Any) -> None:
        assert owner_client.post("/calculators/cost/measure/").status_code == 404
        wrong = owner_client.post(f"{ADDRESS}measure/", {"query": "tokens=x"})
        assert wrong.status_code == 422 and b"not a whole number" in wrong.content
        settings.RUN_QUEUE_LIMIT = 0
        assert self.start(owner_client).status_code == 429
        assert owner_client.get(f"{ADDRESS}measure/").status_code == 405

    def test_only_what_can_be_measured_offers_it(self, client: Client) -> None:
        assert b"Run it on the model" in client.get(ADDRESS).content
        assert b"Run it on the model" not in client.get(f"{ADDRESS}?embed=1").content
        assert b"Run it on the model" not in client.get("/calculators/cost/").content
