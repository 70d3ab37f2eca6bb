"""The serving page: a bounded load that is really served, measured, and set beside the calculators."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client

from engine.llm import Engine
from interview.accounts.models import User
from interview.playground.serving.kind import check, prompt_text, serving
from interview.playground.serving.seen import at, report
from interview.runs.kinds import InputRefused, Job
from interview.runs.models import Run
from interview.runs.services import run_create
from tests.interview.playground.conftest import Execute, Loaded

pytestmark = pytest.mark.django_db
URL = "/playground/serving/"
BODY: dict[str, Any] = {
    "concurrency": 4,
    "requests": 6,
    "prompt_tokens": 24,
    "output_tokens": 8,
    "start": "distinct",
    "speculation": "off",
}


def test_every_request_is_served_in_a_shared_batch_and_predicted(
    owner: User, owner_client: Client, execute: Execute
) -> None:
    done = execute(owner, "serving", BODY)
    served = done.output["load"]["served"]
    assert [one["number"] for one in served] == list(range(6))
    assert {one["finish"] for one in served} == {"length"} and {one["tokens"] for one in served} == {8}
    assert all(len(one["gaps_ms"]) == 7 and one["ttft_ms"] > 0 for one in served)
    assert max(m["running"] for m in done.output["load"]["moments"]) >= 2
    found = report(BODY, done.output)
    assert found.throughput == pytest.approx(48 / done.output["load"]["seconds"])
    assert [one.calculator for one in found.predictions] == ["latency", "batching", "batching"]
    assert all(one.predicted > 0 and one.measured > 0 for one in found.predictions)
    page = owner_client.get(URL, {"run": str(done.run.pk)}).content.decode()
    assert "tokens/s" in page and "batching calculator" in page
    for one in found.predictions:
        assert owner_client.get(one.url).status_code == 200


def test_a_shared_beginning_comes_from_the_prefix_cache(owner: User, execute: Execute) -> None:
    body = {
        **BODY,
        "start": "shared",
        "prompt_tokens": 300,
        "requests": 4,
        "concurrency": 1,
        "output_tokens": 2,
    }
    found = report(body, execute(owner, "serving", body).output)
    assert found.prefix_tokens >= 3 * 256
    assert found.prefix_share > 0.6


def test_drafts_are_proposed_when_they_are_on(owner: User, execute: Execute) -> None:
    body = {
        **BODY,
        "start": "quotes",
        "speculation": "auto",
        "requests": 1,
        "concurrency": 1,
        "output_tokens": 32,
        "prompt_tokens": 120,
    }
    found = report(body, execute(owner, "serving", body).output)
    assert found.proposed >= found.accepted > 0


def test_a_cancel_ends_the_load(owner: User, engine: Engine) -> None:
    body = {**BODY, "requests": 16, "output_tokens": 96, "concurrency": 4}
    run = run_create(owner=owner, kind="serving", input=body)
    began = time.monotonic()

    def on_progress(name: str, data: dict[str, Any]) -> None:
        if data["total"] == 16 and not job.cancelled.is_set():
            job.cancelled.set()
            job.halt()

    job = Job(run=run, models=Loaded(engine), emit=on_progress)
    output = serving(job)
    assert len(output["load"]["served"]) <= 5
    assert time.monotonic() - began < 30
    assert report(body, output).predictions == []


def test_prompts_differ_where_they_should(engine: Engine) -> None:
    texts = [prompt_text(engine, "distinct", 64, n, "a1") for n in (0, 1)]
    assert texts[0][:12] != texts[1][:12]
    again = prompt_text(engine, "distinct", 64, 0, "b2")
    assert again[:20] != texts[0][:20], "another run finds nothing of this one in the prefix cache"
    alike = [prompt_text(engine, "shared", 64, n, "a1") for n in (0, 1)]
    assert alike[0] != alike[1] and alike[0][:200] == alike[1][:200]
    for start in ("distinct", "shared", "quotes"):
        for size in (8, 96, 512):
            assert abs(len(engine.tokenizer.encode(prompt_text(engine, start, size, 3, "a1"))) - size) <= 8


def test_percentiles_are_by_nearest_rank() -> None:
    values = [float(n) for n in range(1, 101)]
    assert (at(values, 0.5), at(values, 0.95), at(values, 0.99)) == (50, 95, 99)
    assert at([], 0.5) is None and at([3.0], 0.99) == 3


@pytest.mark.parametrize(
    ("change", "field"),
    [({"concurrency": "0"}, "concurrency"), ({"concurrency": "17"}, "concurrency"), ({"requests": "33"}, "requests"),
     ({"requests": "32", "output_tokens": "96"}, "requests"), ({"prompt_tokens": "513"}, "prompt_tokens"),
     ({"output_tokens": "1"}, "output_tokens"), ({"start": "x"}, "start"), ({"speculation": "maybe"}, "speculation")],
)  # fmt: skip
def test_the_load_is_bounded_on_the_page_and_in_the_api(
    owner_client: Client, change: dict[str, str], field: str
) -> None:
    response = owner_client.post(URL, {**BODY, "idempotency_key": "k", **change})
    assert response.status_code == 422 and response.context["form"].errors[field]
    with pytest.raises(InputRefused) as caught:
        check({**BODY, **change})
    assert caught.value.loc == (field,)
    assert not Run.objects.exists()


def test_the_api_takes_what_the_page_takes() -> None:
    assert check(BODY) == BODY
    with pytest.raises(InputRefused):
        check({**BODY, "x": 1})


def test_three_personas(owner_client: Client, other_client: Client, anonymous_client: Client) -> None:
    location = owner_client.post(URL, {**BODY, "idempotency_key": "k"}).headers["Location"]
    assert owner_client.get(location).status_code == 200
    assert other_client.get(location).status_code == anonymous_client.get(location).status_code == 404
    assert anonymous_client.post(URL, {**BODY, "idempotency_key": "k"}).status_code == 302
