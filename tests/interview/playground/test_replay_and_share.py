"""Each kind of run that can be done again gives the same again; a shared run is read as its owner reads it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.runs import sharing
from interview.runs.models import Run
from interview.runs.replay import first_difference, run_replay, token_rows
from tests.interview.playground.conftest import Execute

pytestmark = pytest.mark.django_db
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}},
    "required": ["city"],
    "additionalProperties": False,
}
BODIES: dict[str, dict[str, Any]] = {
    "generate": {
        "prompt": "The <b>mat</b> is",
        "sampling": {"max_tokens": 4, "temperature": 0, "logprobs": 5},
    },
    "next-token": {"prompt": "The capital of France is", "sampling": {"temperature": 1.0}, "draw": {}},
    "attention": {"prompt": "The cat sat on the <b>mat</b>", "layer": 2},
    "structured": {
        "messages": [{"role": "user", "content": "Name a city."}],
        "contract": "schema",
        "schema": SCHEMA,
        "source": "",
        "conditions": ["constrained", "unconstrained"],
        "trials": 1,
        "max_tokens": 20,
        "temperature": 0.8,
        "seed": 3,
    },
    "trials": {
        "messages": [{"role": "user", "content": "What is 2 + 2?"}],
        "settings": [{"temperature": 0.9}],
        "trials": 2,
        "max_tokens": 6,
        "seed": 1,
        "check": {"rule": "none", "text": ""},
    },
}
SEEN = {
    "generate": "Choose a token: what it could have been",
    "next-token": "tokens can be drawn",
    "attention": "Rows read from columns",
    "structured": "What the grammar did",
    "trials": "distinct answers",
}


def batches(trace: dict[str, Any]) -> list[Any]:
    """How many requests shared each step, for every answer."""
    stats = trace.get("stats") or []
    return [one.get("batch_sizes") for one in (stats if isinstance(stats, list) else [stats])]


@pytest.mark.parametrize("kind", BODIES)
def test_a_replay_gives_the_same(owner: User, execute: Execute, kind: str) -> None:
    first = execute(owner, kind, BODIES[kind])
    again = run_replay(first.run, owner)
    Run.objects.filter(pk=again.pk).update(state="running", attempt=1)
    second = execute(owner, kind, again.input)
    before, after = first.run.trace.body, second.run.trace.body
    assert sum(map(len, token_rows(before))) > 1
    # Two answers that met in other steps, on a busy machine, may round differently: the page says so too.
    if batches(before) == batches(after):
        assert first_difference(before, after) is None
    else:
        assert kind == "trials", "everything else runs by itself here"
    other = copy.deepcopy(after)
    other.get("choices", [other])[-1]["per_token"][0][1] = "something else"
    assert first_difference(before, other) is not None


def test_a_drawn_token_is_drawn_again(owner: User, execute: Execute) -> None:
    done = execute(owner, "next-token", BODIES["next-token"])
    again = run_replay(done.run, owner)
    assert again.input["draw"] == {"seed": done.output["drawn"]["seed"]}


@pytest.mark.parametrize("kind", BODIES)
def test_whoever_has_the_link_reads_the_result(
    owner: User, other_client: Client, execute: Execute, kind: str
) -> None:
    run = execute(owner, kind, BODIES[kind]).run
    address = reverse("runs:shared", args=[sharing.share_create(run).key])
    response = other_client.get(address)
    html = response.content.decode()
    assert response.status_code == 200 and SEEN[kind] in html
    for private in (reverse("runs:run", args=[run.pk]), reverse("runs:trace", args=[run.pk]), 'name="run"'):
        assert private not in html, private
    assert "<b>mat</b>" not in html
    sharing.share_revoke(run)
    assert other_client.get(address).status_code == 404


def test_every_head_of_a_shared_map_is_a_link_away(
    owner: User, anonymous_client: Client, execute: Execute
) -> None:
    run = execute(owner, "attention", BODIES["attention"]).run
    address = reverse("runs:shared", args=[sharing.share_create(run).key])
    assert f"{address}?shared&amp;head=3" in anonymous_client.get(address).content.decode()
    one = anonymous_client.get(f"{address}?shared&head=3&token=1").content.decode()
    assert 'aria-current="true">3<' in one
    for bad in ("head=99&token=-1", "head=x&token=%00", "head=&token="):
        assert anonymous_client.get(f"{address}?shared&{bad}").status_code == 200


def test_each_token_of_a_shared_answer_is_a_link_away(
    owner: User, anonymous_client: Client, execute: Execute
) -> None:
    run = execute(owner, "generate", BODIES["generate"]).run
    address = reverse("runs:shared", args=[sharing.share_create(run).key])
    first = anonymous_client.get(address).content.decode()
    assert f"{address}?shared&amp;token=2" in first and "The &lt;b&gt;mat&lt;/b&gt; is" in first
    one = anonymous_client.get(f"{address}?shared&token=2").content.decode()
    assert "before any filter" in one and "after all filters" in one
    assert "playground:fork" not in one and "/generate/fork/" not in one
    assert anonymous_client.get(f"{address}?shared&token=99").status_code == 404
