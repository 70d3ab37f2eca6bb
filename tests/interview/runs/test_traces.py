"""Traces: the same fields for every run, written once, chained, and gone only with a reason."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.services import account_delete
from interview.runs import guards, retention, services
from interview.runs.chain import GENESIS, canonical_hash, chain_verify
from interview.runs.connection import client as valkey
from interview.runs.events import stream_key
from interview.runs.models import ChainEntry, Erasure, Run, Trace
from interview.runs.services import run_create
from interview.runs.templatetags.runs import kind_page
from tests.factories import make_run

pytestmark = pytest.mark.django_db
FOUND: dict[str, Any] = {
    "model": {"name": "m", "sha256": "f" * 64},
    "text": "a secret answer",
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    "timings": {"queue_ms": 1.0, "prefill_ms": 2.0, "ttft_ms": 3.0, "total_ms": 9.0},
    "stats": {"seed": 42},
}


def ended(owner: User, **input: Any) -> Run:
    return ended_with(owner, {}, **input)


def ended_with(owner: User, found: dict[str, Any], **input: Any) -> Run:
    run = services.run_claim(str(make_run(owner, **input).pk), worker="host:1")
    assert run is not None
    services.run_succeed(run, {"text": "a secret answer"}, {**FOUND, **found})
    run.refresh_from_db()
    return run


def test_a_trace_holds_every_field(owner: User, settings: Any) -> None:
    settings.PRICE_INPUT_USD, settings.PRICE_OUTPUT_USD = 1.0, 2.0
    body = ended(owner, schema={"type": "object"}, tools=[{"name": "convert"}]).trace.body
    assert body["format"] == "prefill-trace-2"
    assert body["sampling"]["max_tokens"] == 8 and body["sampling"]["order"] == "temperature_first"
    assert body["seed"] == 42
    assert body["constraint"]["kind"] == "schema"
    assert body["tools"][0]["name"] == "convert" and body["tools"][0]["version"]
    assert body["bill"]["usd"] == pytest.approx((7 * 1 + 3 * 2) / 1e6)
    assert [stage["name"] for stage in body["stages"]] == [
        "waiting in the queue", "waiting for the batch", "prefill", "decode", "whole attempt",
    ]  # fmt: skip
    assert body["policy"]["version"] == canonical_hash(body["policy"]["rules"])[:12]
    for name in ("machine", "template", "retrieval", "validation"):
        assert body[name] is None


def test_a_changed_rule_changes_the_policy_version(owner: User, settings: Any) -> None:
    first = ended(owner).trace.body["policy"]["version"]
    settings.RUN_QUEUE_LIMIT = 99
    assert ended(owner).trace.body["policy"]["version"] != first


def test_tokens_are_counted_on_the_run(owner: User) -> None:
    run = ended(owner)
    assert (run.prompt_tokens, run.completion_tokens) == (7, 3)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.0, 1e16, 1.5e300, 5e-324, 0.1, (1, 2)])
def test_any_number_comes_back_as_it_was_hashed(owner: User, value: Any) -> None:
    run = services.run_claim(str(make_run(owner).pk), worker="host:1")
    assert run is not None and services.run_succeed(run, {"x": value}, {"x": [value]})
    trace = Trace.objects.get(run=run)
    assert canonical_hash(trace.body) == trace.hash == trace.entry.body_hash


def test_each_link_continues_the_one_before(owner: User) -> None:
    for _ in range(3):
        ended(owner)
    links = list(ChainEntry.objects.order_by("sequence"))
    assert [link.sequence for link in links] == [1, 2, 3]
    assert [link.previous for link in links] == [GENESIS, links[0].hash, links[1].hash]
    report = chain_verify()
    assert (report.links, report.traces, report.faults, report.head) == (3, 3, [], links[-1].hash)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs_trace SET hash = 'x'",
        "DELETE FROM runs_trace",
        "UPDATE runs_chainentry SET hash = 'x'",
        "DELETE FROM runs_chainentry",
        "UPDATE runs_erasure SET reason = 'owner'",
        "DELETE FROM runs_erasure",
    ],
)
def test_the_database_refuses_to_change_or_delete(owner: User, statement: str) -> None:
    ended(owner)
    retention.run_erase(ended(owner))
    with (
        pytest.raises(DatabaseError, match="written once"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert (Trace.objects.count(), ChainEntry.objects.count(), Erasure.objects.count()) == (1, 2, 1)


def test_deleting_a_run_without_a_reason_is_refused(owner: User) -> None:
    run = ended(owner)
    with pytest.raises(DatabaseError), transaction.atomic():
        run.delete()
    assert Run.objects.filter(pk=run.pk).exists()


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE runs_trace SET body = '{}' WHERE entry_id = 2", "link 2: the trace was changed"),
        ("UPDATE runs_chainentry SET created = created, body_hash = 'x' WHERE sequence = 2", "link 2: its hash doesn't cover"),
        ("DELETE FROM runs_trace WHERE entry_id = 1", "link 1: the trace is gone without a reason"),
        ("DELETE FROM runs_trace WHERE entry_id = 2; DELETE FROM runs_chainentry WHERE sequence = 2", "link 3: 2 was expected"),
    ],
)  # fmt: skip
def test_what_somebody_did_behind_the_guards_shows(owner: User, statement: str, fault: str) -> None:
    for _ in range(3):
        ended(owner)
    with guards.lifted(), connection.cursor() as cursor:
        for part in statement.split("; "):
            cursor.execute(part)
    assert any(line.startswith(fault) for line in chain_verify().faults)
    with pytest.raises(CommandError):
        call_command("verify_traces", stdout=io.StringIO())


def test_a_chain_that_was_cut_off_lacks_the_head_noted_before(owner: User) -> None:
    ended(owner)
    ended(owner)
    out = io.StringIO()
    call_command("verify_traces", "--json", stdout=out)
    head = json.loads(out.getvalue())["head"]
    assert chain_verify(known=head).faults == []
    with guards.lifted(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM runs_trace WHERE entry_id = 2")
        cursor.execute("DELETE FROM runs_chainentry WHERE sequence = 2")
    assert chain_verify().faults == []
    assert len(chain_verify(known=head).faults) == 1


def test_deleting_an_account_keeps_the_chain(owner: User, other: User) -> None:
    guest = User.objects.create_guest()
    User.objects.filter(pk=guest.pk).update(merged_into=owner)
    for user in (owner, other, guest, owner):
        ended(user)
    account_delete(owner=owner)
    report = chain_verify()
    assert (report.links, report.traces, report.erased, report.faults) == (4, 1, {"account": 3}, [])
    assert not Run.objects.exclude(owner=other).exists()


@pytest.mark.django_db(transaction=True)
def test_erasing_takes_every_word(owner: User) -> None:
    run = ended(owner, messages=[{"role": "user", "content": "my secret"}])
    valkey().xadd(stream_key(run.pk), {"event": "tokens", "data": "a secret answer"})
    assert retention.run_erase(run)
    assert not retention.run_erase(run)
    assert "secret" not in json.dumps([run.input, run.output])
    assert run.input["messages"][0]["role"] == "user"
    assert not valkey().exists(stream_key(run.pk)), "nor can it be followed again"
    assert run.erased is not None and not Trace.objects.exists()
    assert chain_verify().erased == {"owner": 1}


INPUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a fork of a template's run": ("generate", {
        "messages": [{"role": "system", "content": "secret"}, {"role": "user", "content": "secret"}],
        "sampling": {"stop": ["secret"], "logit_bias": {"4242": -100.0}, "order": "temperature_last"},
        "continue_ids": [4242],
        "fork": {"run": "0", "index": 1, "token": 7, "text": "secret"},
        "template": {"prompt": 1, "name": "secret", "version": 1, "hash": "f", "variables": {"secret": "secret"}},
    }),
    "a raw prompt held to a schema": ("generate", {
        "prompt": "secret",
        "schema": {"type": "object", "properties": {"secret": {"enum": ["secret"]}}},
        "tools": [{"type": "function", "function": {"name": "secret", "parameters": {"secret": 1}}}],
    }),
    "an own model": ("structured", {
        "messages": [{"role": "user", "content": "secret"}], "source": "secret", "contract": "model",
        "fields": [{"name": "secret", "type": "text", "required": True, "low": None, "high": 9, "choices": ["secret"]}],
        "rule": {"small": "secret", "large": "secret"}, "schema": {"properties": {"secret": {}}},
        "conditions": ["constrained"], "trials": 1, "max_tokens": 9, "temperature": 0.0, "seed": 1,
    }),
    "trials": ("trials", {
        "prompt": "secret", "settings": [{"temperature": 0}], "trials": 2, "max_tokens": 4, "seed": 1,
        "check": {"rule": "contains", "text": "secret"},
    }),
    "a confirmed call": ("tools", {
        "messages": [{"role": "user", "content": "secret"}], "own_words": "secret", "allowed": ["refund"], "rounds": 2,
        "sampling": {"seed": 1},
        "earlier": [{"name": "refund", "arguments": {"secret": "secret"}, "outcome": "answered", "result": {"secret": 1}, "words": "secret"}],
    }),
    "a step": ("next-token", {"prompt": "secret", "continue_ids": [4242], "draw": {"seed": 3}}),
    "a map": ("attention", {"prompt": "secret", "layer": 2}),
    "a calculation": ("measure", {"calculator": "tokens", "query": "text=secret", "prompt": "secret"}),
    "a question": ("ask", {"question": "secret", "most": 5, "style": "quote"}),
    "a document": ("document", {"document": "0", "name": "secret.pdf"}),
}  # fmt: skip


@pytest.mark.parametrize("what", INPUTS)
def test_erasing_takes_every_word_of_every_kind(owner: User, owner_client: Client, what: str) -> None:
    """Names of fields, values of variables and token ids are words too; the run's own page can still be opened."""
    kind, body = INPUTS[what]
    run = services.run_claim(str(run_create(owner=owner, kind=kind, input=body).pk), worker="host:1")
    assert run is not None
    services.run_fail(run, "secret", {"model": {"name": "m"}})
    assert retention.run_erase(run)
    kept = json.dumps([run.input, run.output, run.reason])
    assert "secret" not in kept and "4242" not in kept, kept
    page = kind_page(run) or f"/runs/{run.pk}/"
    found = owner_client.get(page)
    assert found.status_code == 200 and "secret" not in found.content.decode()
    if kind not in ("document", "measure"):
        assert "were erased on" in found.content.decode()


def test_a_run_that_has_not_ended_is_not_erased(owner: User) -> None:
    assert not retention.run_erase(make_run(owner))


def test_retention_erases_what_is_old_and_nothing_else(owner: User, settings: Any) -> None:
    old, new = ended(owner), ended(owner)
    Run.objects.filter(pk=old.pk).update(finished=timezone.now() - timedelta(days=31))
    call_command("prune_traces", stdout=io.StringIO())
    assert Trace.objects.count() == 2, "0 days keep everything"
    settings.TRACE_RETENTION_DAYS = 30
    call_command("prune_traces", stdout=io.StringIO())
    assert [trace.run_id for trace in Trace.objects.all()] == [new.pk]
    assert chain_verify().erased == {"retention": 1}


def test_a_site_may_keep_no_texts_in_its_traces(owner: User, settings: Any) -> None:
    settings.TRACE_TEXT = "hash"
    trace = ended(owner, messages=[{"role": "user", "content": "my secret"}]).trace
    assert "secret" not in json.dumps(trace.body)
    assert trace.body["text"] == {"erased": True, "sha256": canonical_hash("a secret answer")}
    assert trace.body["usage"] == FOUND["usage"] and trace.body["sampling"]["max_tokens"] == 8
    assert chain_verify().faults == []


def test_a_trace_without_texts_can_be_read_and_compared(
    owner: User, owner_client: Client, settings: Any
) -> None:
    settings.TRACE_TEXT = "hash"
    found = {"per_token": [[0, 5, "a secret", -1.0, 2.0]], "token_ids": [5], "rendered_prompt": "a secret"}
    first, second = (ended_with(owner, found) for _ in range(2))
    page = owner_client.get(reverse("runs:trace", args=[first.pk])).content.decode()
    facts = page.partition('id="raw"')[0]
    assert "keeps no texts in its traces" in facts and "erased" not in facts and "secret" not in page
    pair = {"a": str(first.pk), "b": str(second.pk)}
    both = owner_client.get(reverse("runs:compare"), pair).content.decode()
    assert "both records hold the same hash" in both


def test_two_traces_without_tokens_are_not_called_the_same(owner: User, owner_client: Client) -> None:
    pair = {"a": str(ended(owner).pk), "b": str(ended(owner).pk)}
    page = owner_client.get(reverse("runs:compare"), pair).content.decode()
    assert "Neither trace holds tokens" in page and "The tokens are the same" not in page


def test_a_page_of_an_erased_run_says_so(owner: User, owner_client: Client) -> None:
    run = ended(owner)
    page = f"/runs/{run.pk}/"
    assert owner_client.post(f"{page}erase/").status_code == 302
    assert "were erased" in owner_client.get(page).content.decode()
    assert owner_client.get(f"{page}trace/").status_code == 404
    assert "secret" not in owner_client.get(page).content.decode()


def test_only_the_owner_erases(owner: User, other_client: Client, anonymous_client: Client) -> None:
    run = ended(owner)
    for client in (other_client, anonymous_client):
        assert client.post(f"/runs/{run.pk}/erase/").status_code == 404
    assert Trace.objects.count() == 1
