"""The next-token page: real logits kept whole, filters that are the engine's own, picks, draws, undo."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch
from django.test import Client

from engine import Request, Sampling
from engine.llm import Engine
from engine.sampling import apply, choose, filter_steps
from interview.accounts.models import User
from interview.calculators.formulas.sampling_steps import Settings
from interview.playground.next_token.kind import check
from interview.playground.next_token.packed import STEP, pack, unpack
from interview.playground.next_token.seen import distribution
from interview.runs.kinds import InputRefused, RunFailed
from interview.runs.models import Run
from tests.factories import make_run
from tests.interview.playground.conftest import Execute

pytestmark = pytest.mark.django_db
URL = "/playground/next-token/"
STEP_URL = "/playground/next-token/step/"
TEXT = "A language model predicts the next"


def test_every_logit_is_kept_to_half_a_step() -> None:
    dice = random.Random(1)
    logits = sorted((dice.gauss(0, 4) for _ in range(49_152)), reverse=True)
    back = unpack(pack(logits))
    assert len(back) == len(logits)
    assert max(abs(a - b) for a, b in zip(logits, back, strict=True)) <= 0.5 / STEP + 1e-9
    assert len(pack(logits)) < 40_000


@pytest.fixture
def read(owner: User, execute: Execute) -> Run:
    return execute(owner, "next-token", {"prompt": TEXT}).run


def logits_of(engine: Engine, ids: list[int]) -> torch.Tensor:
    from engine.decoder import Segment

    def work() -> torch.Tensor:
        cache = engine.decoder.new_cache(len(ids))
        return engine.decoder.logits(
            engine.decoder.forward(torch.tensor(ids), [Segment(cache, len(ids))])[-1:]
        )[0]

    return engine.loop.call(work).result()


@pytest.mark.parametrize(
    ("sampling", "settings"),
    [
        (Sampling(temperature=1), Settings()),
        (Sampling(temperature=0.5, top_p=0.9), Settings(temperature=0.5, top_p=0.9)),
        (Sampling(temperature=2, top_k=40), Settings(temperature=2, top_k=40)),
        (Sampling(temperature=1.5, min_p=0.1), Settings(temperature=1.5, min_p=0.1)),
        (Sampling(temperature=3, top_p=0.95), Settings(temperature=3, top_p=0.95)),
        (
            Sampling(temperature=2, top_k=50, top_p=0.8, min_p=0.02, order="temperature_last"),
            Settings(temperature=2, top_k=50, top_p=0.8, min_p=0.02, order="temperature_last"),
        ),
    ],
)
def test_the_page_keeps_what_the_engine_keeps(
    engine: Engine, read: Run, sampling: Sampling, settings: Settings
) -> None:
    raw = logits_of(engine, engine.tokenizer.encode(TEXT))
    kept = apply(raw, filter_steps(sampling))
    shown = distribution(read.output or {}, settings)
    count = int((kept > -torch.inf).sum())
    assert abs(shown.kept - count) <= max(1, count // 500)
    odds = kept.softmax(-1)
    # A logit is kept to half a step, so the last token of the set may be in on one side only: the odds of all others
    # against the first one are the engine's, to what two half steps make of them.
    off, first = math.expm1(1 / STEP / sampling.temperature), shown.rows[0]
    both = [row for row in shown.rows if row.kept and odds[row.token_id]]
    assert len(shown.rows) - len(both) <= 1 + sum(1 for row in shown.rows if not row.kept)
    for row in both:
        expected = float(odds[row.token_id] / odds[first.token_id])
        assert row.kept / first.kept == pytest.approx(expected, rel=1.01 * off)


def test_a_draw_is_the_engines_own(engine: Engine, owner: User, execute: Execute) -> None:
    sampling = {"temperature": 1.2, "top_p": 0.9}
    done = execute(owner, "next-token", {"prompt": TEXT, "sampling": sampling, "draw": {"seed": 5}})
    ids = engine.tokenizer.encode(TEXT)
    expected = choose(logits_of(engine, ids), Sampling(**sampling), random.Random(5))  # type: ignore[arg-type]
    assert done.output["drawn"]["id"] == expected and done.output["continue_ids"] == [expected]
    assert done.output["count"] == len(ids) + 1
    after = logits_of(engine, [*ids, expected])
    assert done.output["top"][0][0] == int(after.argmax())
    assert len(done.output["layer_norms"]) == engine.decoder.shape.n_layers + 1
    assert done.run.trace.body["drawn"]["seed"] == 5


def test_greedy_steps_give_what_generate_gives(engine: Engine, owner: User, execute: Execute) -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "Name a colour."}]}
    request = Request.from_dict({**body, "sampling": {"max_tokens": 4}})
    kept: list[int] = []
    for _ in range(4):
        done = execute(
            owner, "next-token", {**body, "continue_ids": kept, "sampling": {"temperature": 0}, "draw": {}}
        )
        kept = done.output["continue_ids"]
    assert tuple(kept) == engine.generate(request).token_ids


def test_a_text_past_the_page_says_so(owner: User, execute: Execute) -> None:
    with pytest.raises(RunFailed, match="1024 at most"):
        execute(owner, "next-token", {"prompt": "word " * 1100})


def test_the_page_shows_the_dials_and_their_effect(owner_client: Client, read: Run) -> None:
    page = owner_client.get(URL, {"run": str(read.pk), "top_k": "3"})
    assert (
        page.context["seen"].kept == 3 and page.context["seen"].entropy_bits > page.context["seen"].kept_bits
    )
    assert page.content.decode().count("Append ") == 20
    part = owner_client.get(
        URL, {"run": str(read.pk), "temperature": "0"}, headers={"HX-Request": "true", "HX-Target": "kept"}
    )
    assert part.content.decode().lstrip().startswith('<div id="kept"')
    assert part.context["seen"].kept == 1


@pytest.mark.parametrize("dial", [{"top_p": "0"}, {"temperature": "x"}, {"min_p": "2"}, {"order": "?"}])
def test_a_dial_out_of_range_is_named(owner_client: Client, read: Run, dial: dict[str, str]) -> None:
    page = owner_client.get(URL, {"run": str(read.pk), **dial})
    assert page.status_code == 200 and page.context["dials"].errors
    sent = {"run": str(read.pk), "idempotency_key": "k", **dial}
    assert owner_client.post(STEP_URL, sent).status_code == 422


def test_pick_draw_and_undo(owner_client: Client, read: Run) -> None:
    output = read.output or {}
    token = output["top"][1][0]
    sent = {"run": str(read.pk), "idempotency_key": "step", "temperature": "0.5", "top_k": "5"}
    location = owner_client.post(STEP_URL, sent | {"token": str(token)}).headers["Location"]
    picked = Run.objects.exclude(pk=read.pk).get()
    assert location == f"{URL}?run={picked.pk}"
    assert picked.input["continue_ids"] == [token] and "draw" not in picked.input
    assert picked.input["previous"] == str(read.pk) and picked.input["prompt"] == TEXT
    owner_client.post(STEP_URL, sent | {"seed": "9"})
    drawn = Run.objects.exclude(pk__in=[read.pk, picked.pk]).get()
    assert drawn.input["draw"] == {"seed": 9} and drawn.input["sampling"]["top_k"] == 5


def test_a_token_the_page_never_showed_is_404(owner_client: Client, read: Run) -> None:
    sent = {"run": str(read.pk), "idempotency_key": "k", "token": "2147483000"}
    assert owner_client.post(STEP_URL, sent).status_code == 404


def test_nobody_else_steps_on(read: Run, other_client: Client, anonymous_client: Client, owner: User) -> None:
    for client in (other_client, anonymous_client):
        assert client.get(URL, {"run": str(read.pk)}).status_code == 404
        assert client.post(STEP_URL, {"run": str(read.pk), "idempotency_key": "k"}).status_code == 404
    generation = make_run(owner)
    assert other_client.get(URL, {"run": str(generation.pk)}).status_code == 404


def test_a_run_that_waits_has_no_next_step(owner_client: Client, owner: User) -> None:
    waiting = make_run(owner, kind="next-token")
    assert owner_client.get(URL, {"run": str(waiting.pk)}).status_code == 200
    assert owner_client.post(STEP_URL, {"run": str(waiting.pk), "idempotency_key": "k"}).status_code == 404


@pytest.mark.parametrize("text", ["", "\u200b", "x" * 5000])
def test_a_bad_text_is_named(owner_client: Client, text: str) -> None:
    response = owner_client.post(URL, {"prompt": text, "mode": "raw", "idempotency_key": "k"})
    assert response.status_code == 422 and response.context["form"].errors["prompt"]


def test_a_visitor_may_read_a_text(anonymous_client: Client) -> None:
    sent = {"prompt": "<b>Hi", "mode": "chat", "idempotency_key": "k"}
    page = anonymous_client.get(anonymous_client.post(URL, sent).headers["Location"]).content.decode()
    assert "&lt;b&gt;Hi" in page and "<b>Hi" not in page
    assert Run.objects.get().owner.is_guest


@pytest.mark.parametrize(
    "body", [{"prompt": ""}, {"prompt": "a", "draw": 3}, {"prompt": "a", "draw": {"x": 1}}, {"prompt": "a", "previous": "x"}, {"top": 3},
             {"prompt": "a", "draw": {"seed": "x"}}, {"prompt": "a", "draw": {"seed": []}}, {"prompt": "a", "draw": {"seed": -1}},
             {"prompt": "a", "draw": {"seed": True}}, {"prompt": "a", "schema": {}}, {"prompt": "a", "sampling": {"temperature": -1}}]
)  # fmt: skip
def test_the_api_refuses_what_it_cannot_read(body: dict[str, Any]) -> None:
    with pytest.raises(InputRefused):
        check(body)


def test_the_runs_own_page_leads_here(owner_client: Client, read: Run) -> None:
    page = owner_client.get(f"/runs/{read.pk}/").content.decode()
    assert f'href="{URL}?run={read.pk}"' in page and "<h1>Next token</h1>" in page
