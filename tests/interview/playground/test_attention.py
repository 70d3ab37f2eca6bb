"""The attention page: weights that sum to one under the mask, one head at a time, costs as the calculator counts."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from django.test import Client

from engine.llm import Engine
from interview.accounts.models import User
from interview.calculators.formulas.attention_flops import prefill_flops
from interview.calculators.formulas.models import models
from interview.playground.attention.kind import check
from interview.playground.attention.seen import cost, level, seen
from interview.runs.kinds import InputRefused, RunFailed
from interview.runs.models import Run
from tests.factories import make_run
from tests.interview.playground.conftest import Execute

pytestmark = pytest.mark.django_db
URL = "/playground/attention/"
TEXT = "The animal didn't cross the street because it was too tired."


@pytest.fixture
def looked(owner: User, execute: Execute) -> Run:
    return execute(owner, "attention", {"prompt": TEXT, "layer": 8}).run


def test_rows_sum_to_one_and_see_nothing_later(engine: Engine, looked: Run) -> None:
    output = looked.output or {}
    count = len(engine.tokenizer.encode(TEXT))
    assert len(output["maps"]) == 1 + engine.decoder.shape.n_heads
    for one in output["maps"]:
        assert [len(row) for row in one] == list(range(1, count + 1))
        assert all(math.isclose(sum(row), 1, abs_tol=0.004) for row in one)
    average, heads = output["maps"][0], output["maps"][1:]
    last = [sum(head[-1][j] for head in heads) / len(heads) for j in range(count)]
    assert last == pytest.approx(average[-1], abs=2e-4)
    assert len(output["norms"]) == engine.decoder.shape.n_layers + 1
    assert looked.trace.body["layer"] == 8


def test_the_picture_the_text_and_the_table_say_the_same(looked: Run) -> None:
    output = looked.output or {}
    shown = seen(output, 3, 7, "/x?run=1")
    row = output["maps"][4][7]
    assert [key.weight for key in shown.keys] == row
    assert [key.weight for key in shown.ordered] == sorted(row, reverse=True)
    assert [level(weight) for weight in row] == [key.level for key in shown.keys]
    count = len(output["tokens"])
    assert len(re.findall(r'class="cell', shown.picture)) == count * (count + 1) // 2
    assert shown.matrix[7][1][:8] == [f"{100 * w:.1f}" for w in row] and shown.matrix[7][1][8:] == [
        "masked"
    ] * (count - 8)


def test_costs_are_the_attention_calculators(engine: Engine) -> None:
    shape = {"n_layers": 30, "n_heads": 9, "head_dim": 64}
    assert {name: getattr(engine.decoder.shape, name) for name in shape} == shape
    small = models()["HuggingFaceTB/SmolLM2-135M"]
    for n in (13, 1024, 8192):
        assert cost(shape, n).flops == prefill_flops(small, n, "causal")[1]


def test_head_and_token_are_chosen_by_the_address(owner_client: Client, looked: Run) -> None:
    page = owner_client.get(URL, {"run": str(looked.pk), "head": "3", "token": "7"})
    assert (page.context["seen"].head, page.context["seen"].token) == (3, 7)
    assert "not why an answer came out" in page.content.decode()
    part = owner_client.get(
        URL, {"run": str(looked.pk)}, headers={"HX-Request": "true", "HX-Target": "attention-map"}
    )
    assert part.content.decode().lstrip().startswith('<section id="attention-map"')


@pytest.mark.parametrize(
    "given", [{"head": "99"}, {"head": "-1"}, {"token": "9999999"}, {"token": "x"}, {"head": "avg"}]
)
def test_what_is_not_there_falls_back(owner_client: Client, looked: Run, given: dict[str, str]) -> None:
    page = owner_client.get(URL, {"run": str(looked.pk), **given})
    assert page.status_code == 200 and page.context["seen"].head is None


@pytest.mark.parametrize(
    ("body", "said"),
    [({"prompt": TEXT, "layer": 30}, "0 to 29"), ({"prompt": "word " * 80, "layer": 0}, "64"), ({"prompt": "word " * 300, "layer": 0}, "Shorten it")],
)  # fmt: skip
def test_the_worker_says_what_is_allowed(
    owner: User, execute: Execute, body: dict[str, Any], said: str
) -> None:
    with pytest.raises(RunFailed, match=said):
        execute(owner, "attention", body)


@pytest.mark.parametrize("body", [{"prompt": "", "layer": 1}, {"prompt": "a"}, {"prompt": "a", "layer": True}, {"prompt": "a", "layer": -1}, {"prompt": "a", "layer": 1, "x": 2}, {"prompt": "a", "layer": 30}, {"prompt": "a", "layer": 1, "schema": {}}])  # fmt: skip
def test_the_api_refuses_what_it_cannot_read(body: dict[str, Any]) -> None:
    with pytest.raises(InputRefused):
        check(body)


@pytest.mark.parametrize(
    ("name", "value"),
    [("prompt", "\u200b"), ("prompt", "x" * 1001), ("layer", "-1"), ("layer", ""), ("layer", "30")],
)
def test_a_bad_value_is_named(owner_client: Client, name: str, value: str) -> None:
    sent = {"prompt": TEXT, "layer": "3", "idempotency_key": "k", name: value}
    response = owner_client.post(URL, sent)
    assert response.status_code == 422 and response.context["form"].errors[name]
    assert not Run.objects.exists()


def test_three_personas(owner: User, looked: Run, other_client: Client, anonymous_client: Client) -> None:
    for client in (other_client, anonymous_client):
        assert client.get(URL, {"run": str(looked.pk)}).status_code == 404
    sent = {"prompt": "<i>mine", "layer": "0", "idempotency_key": "k"}
    page = anonymous_client.get(anonymous_client.post(URL, sent).headers["Location"]).content.decode()
    assert "&lt;i&gt;mine" in page and "data-run-events" in page
    assert make_run(owner).pk != looked.pk


def test_markup_in_a_token_is_inert(owner: User, owner_client: Client, execute: Execute) -> None:
    run = execute(owner, "attention", {"prompt": "<script>alert(1)</script> & <b>", "layer": 0}).run
    page = owner_client.get(URL, {"run": str(run.pk)}).content.decode()
    assert "<script>alert" not in page and "<b>" not in page
