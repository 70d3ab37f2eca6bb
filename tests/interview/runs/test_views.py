"""Pages of runs: one's own only, for every route; lists in few queries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from interview.accounts.models import User
from interview.runs import services
from interview.runs.chain import canonical_hash
from interview.runs.models import Run
from interview.runs.selectors import standing
from tests.factories import make_run

pytestmark = pytest.mark.django_db

OUTPUT = {
    "text": "Hi <b>you</b>",
    "finish_reason": "stop",
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cached_tokens": 0},
    "timings": {"ttft_ms": 12.0, "itl_ms_p50": 8.0, "itl_ms_p95": 9.0, "tokens_per_s": 100.0},
    "per_token": [[0, 11, "Hi", -0.1, 12.0], [1, 12, " <b>you</b>\n", -2.0, 20.0]],
}


@pytest.fixture
def run(owner: User) -> Run:
    run = services.run_claim(str(make_run(owner).pk), worker="host:1")
    assert run is not None
    services.run_succeed(run, OUTPUT, {"model": {"name": "m", "sha256": "f" * 64}, "usage": OUTPUT["usage"]})
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(
    ("method", "name"),
    [("get", "runs:run"), ("get", "runs:status"), ("post", "runs:cancel"), ("get", "runs:trace")],
)
def test_others_get_404(
    method: str, name: str, run: Run, owner_client: Client, other_client: Client, anonymous_client: Client
) -> None:
    url = reverse(name, args=[run.pk])
    assert getattr(owner_client, method)(url).status_code in (200, 286, 302)
    assert getattr(other_client, method)(url).status_code == 404
    assert getattr(anonymous_client, method)(url).status_code == 404


def test_output_is_inert(run: Run, owner_client: Client) -> None:
    page = owner_client.get(reverse("runs:run", args=[run.pk])).content.decode()
    assert "<b>you</b>" not in page
    assert "&lt;b&gt;you&lt;/b&gt;" in page


def test_the_fragment_holds_no_page(run: Run, owner_client: Client) -> None:
    fragment = owner_client.get(
        reverse("runs:run", args=[run.pk]), headers={"HX-Request": "true"}
    ).content.decode()
    assert "<html" not in fragment
    assert 'id="run"' in fragment


def test_an_ended_status_stops_the_polling(run: Run, owner_client: Client) -> None:
    response = owner_client.get(reverse("runs:status", args=[run.pk]))
    assert response.status_code == 286
    assert response.headers["HX-Trigger"] == "run-ended"


def test_the_list_is_ones_own_in_few_queries(
    run: Run,
    owner: User,
    owner_client: Client,
    other_client: Client,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(5):
        make_run(owner)
    with django_assert_max_num_queries(4):
        page = owner_client.get(reverse("runs:run_list")).content.decode()
    assert page.count("/trace/") == 1
    assert str(run.pk) not in other_client.get(reverse("runs:run_list")).content.decode()


def test_the_trace_downloads_as_json_with_its_hash(run: Run, owner_client: Client) -> None:
    response = owner_client.get(reverse("runs:trace", args=[run.pk]) + "?format=json")
    record = json.loads(response.content)
    assert record["hash"] == canonical_hash(record["trace"])
    assert record["trace"]["model"]["sha256"] == "f" * 64


def test_a_run_without_a_trace_yet_is_404(owner: User, owner_client: Client) -> None:
    assert owner_client.get(reverse("runs:trace", args=[make_run(owner).pk])).status_code == 404


def test_cancel_by_form_goes_back_to_the_run(owner: User, owner_client: Client) -> None:
    waiting = make_run(owner)
    response = owner_client.post(reverse("runs:cancel", args=[waiting.pk]))
    assert response.headers["Location"] == reverse("runs:run", args=[waiting.pk])
    waiting.refresh_from_db()
    assert waiting.state == "cancelled"
    assert "cancelled" in owner_client.get(reverse("runs:run", args=[waiting.pk])).content.decode()


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda run: services.run_succeed(run, OUTPUT, {}), r"^in \d+\.\d s$"),
        (lambda run: services.run_fail(run, "It broke.", {}), r"^It broke\.$"),
        (lambda run: services.run_end_cancelled(run, OUTPUT, {}), "^as you asked$"),
    ],
)
def test_an_ended_run_says_how_it_ended_once(owner: User, end: Callable[[Run], bool], words: str) -> None:
    run = services.run_claim(str(make_run(owner).pk), worker="host:1")
    assert run is not None
    assert end(run)
    run.refresh_from_db()
    assert re.search(words, standing(run).words)


def test_every_run_can_be_told_from_the_others(owner: User, owner_client: Client) -> None:
    load = {"concurrency": 3, "requests": 4, "start": "distinct"}
    for kind, body in (("serving", load), ("grade", {})):
        services.run_create(owner=owner, kind=kind, input=body)
    page = owner_client.get("/runs/").content.decode()
    assert "concurrency 3, requests 4, start distinct" in page
    served = Run.objects.get(kind="serving")
    assert served.prompt_words and Run.objects.get(kind="grade").prompt_words == "grade"
    recent = owner_client.get("/playground/serving/").content.decode()
    assert f'?run={served.pk}">concurrency 3' in recent, "a link has words"
