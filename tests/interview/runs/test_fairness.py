"""Owners are served in turn, and nobody uses up what is there for everybody."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from interview.accounts.models import User
from interview.runs import fairness, services
from interview.runs.connection import client
from interview.runs.models import Run
from interview.runs.quotas import tokens_today
from interview.runs.selectors import standing
from tests.factories import make_run

pytestmark = pytest.mark.django_db


def queue(owner: User, count: int) -> list[Run]:
    now = timezone.now() - timedelta(seconds=count)
    return Run.objects.bulk_create(
        [
            Run(owner=owner, kind="generate", input={}, input_hash="0", created=now + timedelta(seconds=i))
            for i in range(count)
        ]
    )


def take() -> Run:
    run = fairness.run_claim_next(worker="host:1")
    assert run is not None
    return run


def test_two_hundred_runs_of_one_hold_nobody_up(owner: User, other: User) -> None:
    queue(owner, 200)
    mine = make_run(other)
    assert standing(mine).position <= 2
    assert mine.pk in [take().pk for _ in range(2)]


def test_owners_take_turns_even_one_run_at_a_time(owner: User, other: User) -> None:
    queue(owner, 5)
    queue(other, 3)
    order = []
    for _ in range(8):
        run = take()
        order.append(run.owner_id == owner.pk)
        services.run_succeed(run, {}, {})
    assert order[:6] in ([True, False] * 3, [False, True] * 3)
    assert order[6:] == [True, True]


def test_one_owners_runs_keep_their_order(owner: User) -> None:
    queued = [run.pk for run in queue(owner, 3)]
    assert [take().pk for _ in queued] == queued


def test_nobody_holds_every_thread(owner: User, other: User, settings: Any) -> None:
    settings.RUN_PARALLEL_LIMIT = 2
    queue(owner, 5)
    running = [take(), take()]
    assert fairness.run_claim_next(worker="host:1") is None
    assert fairness.held_back(owner.pk) is None
    queue(other, 1)
    assert take().owner_id == other.pk
    services.run_succeed(running[0], {}, {})
    assert fairness.held_back(owner.pk) is not None
    assert take().owner_id == owner.pk


def test_the_place_in_the_queue_is_the_order_of_service(owner: User, other: User) -> None:
    runs = [*queue(owner, 4), *queue(other, 2)]
    places = {run.pk: fairness.place_of(run) for run in runs}
    served = []
    for _ in runs:
        run = take()
        served.append(run.pk)
        services.run_succeed(run, {}, {})
    late = [abs(served.index(pk) + 1 - place) for pk, place in places.items()]
    assert max(late) <= 1, "ties between owners may fall either way"


def test_taking_a_turn_costs_the_same_however_long_the_queue(
    owner: User, other: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    queue(owner, 200)
    queue(other, 50)
    with django_assert_max_num_queries(6):
        take()


def test_tokens_of_a_day_are_limited(owner: User, other: User, owner_client: Client, settings: Any) -> None:
    settings.RUN_TOKENS_PER_DAY = 100
    run = services.run_claim(str(make_run(owner).pk), worker="host:1")
    assert run is not None
    services.run_succeed(run, {}, {"usage": {"prompt_tokens": 60, "completion_tokens": 40}})
    assert tokens_today(owner) == 100
    with pytest.raises(services.QuotaExceeded, match="100 tokens today, and 100 is the limit") as caught:
        make_run(owner)
    assert 0 < caught.value.retry_after <= 86_400
    make_run(other)
    body = {"kind": "generate", "input": {"prompt": "x"}}
    response = owner_client.post("/api/v1/runs", body, content_type="application/json")
    assert (response.status_code, response.json()["code"]) == (429, "quota_exceeded")
    assert 0 < int(response.headers["Retry-After"]) <= 86_400
    Run.objects.filter(pk=run.pk).update(started=timezone.now() - timedelta(days=1))
    make_run(owner)


@pytest.mark.django_db(transaction=True)
def test_a_message_wakes_whoever_is_next(owner: User, other: User) -> None:
    first = make_run(owner)
    make_run(other)
    assert client().llen("prefill") == 2
    assert take().pk == first.pk
    assert take().owner_id == other.pk
    assert fairness.run_claim_next(worker="host:1") is None
