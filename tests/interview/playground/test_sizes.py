"""A prompt that can't fit is told before anything is queued: on every page that takes one, and in the API of each kind."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from interview.accounts.models import User
from interview.playground.prompts.services import prompt_create
from interview.runs import services
from interview.runs.models import Run

pytestmark = pytest.mark.django_db
LONG = "7 " * 1500
TEXT = [{"role": "user", "content": LONG}]
OVER = r"has \d+ tokens; the context window holds 512"
KEY = {"idempotency_key": "k"}
STRUCTURED = {
    "contract": "refund",
    "source": "x",
    "constraint": "on",
    "trials": "1",
    "max_tokens": "9",
    "temperature": "1",
    "seed": "1",
}
PAGES: dict[str, tuple[str, dict[str, Any], str]] = {
    "generate": ("/playground/generate/", {"prompt": LONG}, "prompt"),
    "trials": ("/playground/trials/", {"prompt": LONG, "trials": "2", "max_tokens": "4", "temperature_1": "0"}, "prompt"),
    "next-token": ("/playground/next-token/", {"prompt": LONG}, "prompt"),
    "structured": ("/playground/structured-output/", {**STRUCTURED, "source": LONG}, "source"),
    "drift": ("/playground/drift/", {"name": "n", "prompts": "7" * 490, "trials": "4"}, "prompts"),
    "tools": ("/playground/tools/", {"prompt": LONG, "allowed": ["convert"], "rounds": "1", "temperature": "0"}, "prompt"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_window(settings: Any) -> None:
    settings.ENGINE_CONTEXT = 512


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_says_both_numbers_and_keeps_the_text(owner_client: Client, kind: str) -> None:
    address, sent, field = PAGES[kind]
    response = owner_client.post(address, {**sent, **KEY})
    form = response.context["form"]
    faults = json.dumps(form.errors)
    assert response.status_code == 422 and not Run.objects.exists()
    assert re.search(OVER, faults), faults
    assert form[field].value() == sent[field], "nothing is lost"


BODIES: dict[str, dict[str, Any]] = {
    "generate": {"messages": TEXT},
    "trials": {"messages": TEXT, "settings": [{"temperature": 0}], "trials": 2, "max_tokens": 4, "seed": 1, "check": {"rule": "none", "text": ""}},
    "next-token": {"prompt": LONG},
    "attention": {"prompt": LONG, "layer": 0},
    "structured": {"messages": TEXT, "contract": "refund", "source": "x", "conditions": ["unconstrained"], "trials": 1, "max_tokens": 9, "temperature": 1, "seed": 1},
    "tools": {"messages": TEXT, "allowed": ["convert"]},
}  # fmt: skip


@pytest.mark.parametrize("kind", BODIES)
def test_the_api_refuses_it_too(owner_client: Client, kind: str) -> None:
    body = json.dumps({"kind": kind, "input": BODIES[kind]})
    response = owner_client.post("/api/v1/runs", body, content_type="application/json")
    assert response.status_code == 422 and response.json()["code"] == "prompt_too_long", response.content
    assert not Run.objects.exists()


def test_the_schema_of_a_contract_counts(owner_client: Client) -> None:
    schema = json.dumps({"type": "object", "description": LONG})
    sent = {**STRUCTURED, **KEY, "contract": "schema", "schema": schema}
    response = owner_client.post("/playground/structured-output/", sent)
    assert response.status_code == 422 and "context window" in str(response.context["form"].errors["schema"])


def test_what_a_template_is_filled_with_counts(owner: User, owner_client: Client) -> None:
    prompt = prompt_create(owner=owner, name="n", system="", body="Read: {{ notes }}")
    sent = {"version": "1", "temperature": "0", "max_tokens": "4", "var_notes": LONG, **KEY}
    response = owner_client.post(f"/playground/prompts/{prompt.pk}/run/", sent)
    assert response.status_code == 422 and not Run.objects.exists()
    assert (
        "context window" in str(response.context["fill"].non_field_errors())
        and LONG[:80] in response.content.decode()
    )


def test_a_fork_at_the_end_of_the_window_is_refused_beside_its_run(owner: User, owner_client: Client) -> None:
    kept = list(range(100, 100 + 508))
    rows = [[i, token, "a", -0.1, 1.0] for i, token in enumerate(kept)]
    top = [[5, "b", 0.1, 0.1, []]]
    output = {
        "text": "a",
        "per_token": rows,
        "token_ids": kept,
        "steps": [{"top": top}] * len(kept),
        "usage": {"prompt_tokens": 9, "completion_tokens": 508},
        "timings": {},
        "stats": {},
    }
    run = services.run_create(
        owner=owner, kind="generate", input={"prompt": "Well, well, well, well, well", "sampling": {}}
    )
    claimed = services.run_claim(str(run.pk), worker="host:1")
    assert claimed is not None and services.run_succeed(claimed, output, {})
    sent = {"run": str(run.pk), "index": "507", "token": "5", **KEY}
    response = owner_client.post("/playground/generate/fork/", sent)
    assert response.status_code == 422 and "context window holds 512" in response.content.decode()
    assert Run.objects.count() == 1
    assert owner_client.post("/playground/generate/fork/", {**sent, "index": "20"}).status_code == 302


def test_a_step_past_what_the_page_looks_at_is_refused(
    owner: User, owner_client: Client, settings: Any
) -> None:
    settings.ENGINE_CONTEXT = 0
    kept = list(range(100, 100 + 1024))
    run = services.run_create(owner=owner, kind="next-token", input={"prompt": "Well"})
    claimed = services.run_claim(str(run.pk), worker="host:1")
    output = {
        "continue_ids": kept,
        "top": [[5, "b", 1.0]],
        "logits": "0:eJxjYGBgAAAABAAB",
        "layer_norms": [1.0, 2.0],
        "tokens": [],
    }
    assert claimed is not None and services.run_succeed(claimed, output, {})
    sent = {"run": str(run.pk), "token": "5", "temperature": "1", **KEY}
    response = owner_client.post("/playground/next-token/step/", sent)
    assert response.status_code == 422 and "looks at 1024 at most" in response.content.decode()
    assert Run.objects.count() == 1
