"""Structured output: each stage catches its own, truncated is never valid, what can't be enforced is named at once."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engine.schemas import check_enforceable
from interview.accounts.models import User
from interview.playground.structured.contracts import CONTRACTS, own_model, schema_of, semantic_faults
from interview.playground.structured.kind import check
from interview.playground.structured.pipeline import judge, rates, retry_messages
from interview.runs import services
from interview.runs.kinds import InputRefused
from interview.runs.models import Run
from tests.interview.playground.conftest import Execute

pytestmark = pytest.mark.django_db
URL = "/playground/structured-output/"
REFUND = CONTRACTS["refund"]
BODY: dict[str, Any] = {
    "contract": "refund",
    "source": REFUND.sample,
    "messages": [{"role": "user", "content": REFUND.sample}],
    "conditions": ["constrained", "unconstrained"],
    "trials": 2,
    "max_tokens": 60,
    "temperature": 0.7,
    "seed": 1,
}
FORM = {
    "contract": "refund",
    "source": REFUND.sample,
    "constraint": "both",
    "trials": "2",
    "max_tokens": "60",
    "temperature": "0.7",
    "seed": "1",
    "idempotency_key": "k",
}
GOOD = {"order": "AB-1234", "decision": "approve", "amount_cents": 4990, "currency": "EUR"}


@pytest.mark.parametrize("slug", CONTRACTS)
def test_every_contract_can_be_enforced(slug: str) -> None:
    check_enforceable(schema_of(CONTRACTS[slug].model))


def judged(text: str, finish: str = "stop") -> Any:
    return judge(text, finish, 9, schema_of(REFUND.model), REFUND.model, REFUND.sample)


@pytest.mark.parametrize(
    ("text", "finish", "stage", "words"),
    [
        (json.dumps(GOOD), "length", "decode", "cut off"),
        (json.dumps(GOOD)[:-1], "stop", "parse", "not acceptable JSON"),
        ('{"order": "AB-1234", "order": "AB-1234"}', "stop", "parse", "same key twice"),
        (f"Sure! {json.dumps(GOOD)}", "stop", "parse", "not acceptable JSON"),
        (json.dumps({**GOOD, "extra": 1}), "stop", "schema", "extra"),
        (json.dumps({**GOOD, "amount_cents": -1}), "stop", "schema", "amount_cents"),
        (json.dumps({**GOOD, "amount_cents": 0}), "stop", "semantics", "above 0"),
        (json.dumps({**GOOD, "order": "ZZ-0000"}), "stop", "semantics", "not in the text"),
    ],
)
def test_each_stage_catches_its_own(text: str, finish: str, stage: str, words: str) -> None:
    attempt = judged(text, finish)
    failed = [name for name, state in attempt.stages.items() if state == "failed"]
    assert failed == [stage] and words in attempt.error and not attempt.valid


def test_what_keeps_every_rule_is_valid() -> None:
    assert judged(json.dumps(GOOD)).valid


@pytest.mark.parametrize(
    ("slug", "value", "fault"),
    [
        ("contact", {"name": "Mira Sample", "email": None, "phone": None}, "give an e-mail"),
        ("contact", {"name": "Mira Sample", "email": "x@example.org", "phone": None}, "not in the text"),
        ("contact", {"name": "Mira Sample", "email": "mira@example.org", "phone": None}, ""),
        ("grounded", {"status": "not_found", "answer": "x", "quote": ""}, "not_found"),
        ("grounded", {"status": "answered", "answer": "x", "quote": "three years"}, "word for word"),
        ("grounded", {"status": "answered", "answer": "2", "quote": "two years"}, ""),
    ],
)
def test_rules_beyond_the_schema(slug: str, value: Any, fault: str) -> None:
    known = CONTRACTS[slug]
    found = semantic_faults(known.model, value, known.sample)
    assert (fault in found) if fault else found == ""


FIELDS: list[dict[str, Any]] = [
    {"name": "low", "type": "whole number", "low": 0, "high": 9, "choices": [], "required": True},
    {"name": "high", "type": "number", "low": None, "high": None, "choices": [], "required": False},
    {"name": "kind", "type": "text", "low": None, "high": None, "choices": ["a", "b"], "required": True},
]


def test_a_model_from_the_form_has_its_schema_and_its_rule() -> None:
    model = own_model(FIELDS, {"small": "low", "large": "high"})
    schema = schema_of(model)
    assert schema["properties"]["kind"]["enum"] == ["a", "b"]
    assert schema["properties"]["low"] == {"maximum": 9, "minimum": 0, "type": "integer"}
    assert schema["required"] == ["low", "kind"] and schema["additionalProperties"] is False
    check_enforceable(schema)
    assert semantic_faults(model, {"low": 5, "high": 4.0, "kind": "a"}, "") == "low is above high"
    assert semantic_faults(model, {"low": 5, "kind": "a"}, "") == ""


def test_the_error_is_fed_back() -> None:
    talk = retry_messages(BODY["messages"], judged("{}"))
    assert [message["role"] for message in talk] == ["user", "assistant", "user"]
    assert "order" in talk[-1]["content"]


def test_trials_run_on_the_real_model(owner: User, owner_client: Client, execute: Execute) -> None:
    done = execute(owner, "structured", check({**BODY, "max_tokens": 45}))
    held, free = done.output["conditions"]["constrained"], done.output["conditions"]["unconstrained"]
    whole = held["rates"]["trials"] - held["rates"]["truncated"]
    assert held["rates"]["parsed"] == held["rates"]["schema"] == whole, (
        "the grammar holds whatever was not cut off"
    )
    assert free["rates"]["trials"] == 2
    for part in (held, free):
        assert all(1 <= len(attempts) <= 3 for attempts in part["trials"])
        assert all(len(attempts) == 3 or attempts[-1]["valid"] for attempts in part["trials"])
    assert any(step["forced"] for step in done.output["steps"])
    assert all(0 <= step["masked"] <= 1 for step in done.output["steps"])
    trace = done.run.trace.body
    assert trace["validation"]["constrained"]["trials"] == 2
    assert {"constrained, first texts", "unconstrained, first texts"} <= {s["name"] for s in trace["stages"]}
    page = owner_client.get(URL, {"run": str(done.run.pk)}).content.decode()
    assert "What the grammar did" in page and "95 % interval" in page


def test_rates_count_first_texts_and_the_end() -> None:
    bad, good = judged("{}"), judged(json.dumps(GOOD))
    found = rates([[bad, good], [good], [bad, bad, bad]])
    assert found == {
        "trials": 3,
        "parsed": 3,
        "schema": 1,
        "semantics": 1,
        "truncated": 0,
        "final": 2,
        "retries": 3,
    }


UNIQUE = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}


def test_what_cannot_be_enforced_is_named_and_another_way_offered(owner_client: Client) -> None:
    form = {**FORM, "contract": "schema", "schema": json.dumps(UNIQUE)}
    page = owner_client.post(URL, form)
    text = page.content.decode()
    assert page.status_code == 422 and "uniqueItems" in text and "Run it unconstrained" in text
    assert not Run.objects.exists()
    assert owner_client.post(URL, {**form, "constraint": "off"}).status_code == 302
    assert Run.objects.get().input["conditions"] == ["unconstrained"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("{", "This is no JSON"),
        ("", "Give a JSON schema: an object."),
        ('{"maximum": ' + "9" * 5000 + "}", "a number of 5000 digits is too long"),
        ('{"maximum": NaN}', "no number that JSON can hold"),
        ('{"type": "string", "type": "integer"}', "the same key twice"),
        ('{"type": "strnig"}', "not a JSON schema"),
        ('{"$ref": "#"}', "without end"),
        ('{"enum": []}', "Unsatisfiable"),
        ("[" * 5000 + "]" * 5000, "nested"),
        (json.dumps({"properties": {f"p{i}": {} for i in range(10_500)}}), "bytes"),
        ('{"type": "object", "properties": {"n": {"$ref": "https://example.org/x"}}}', "leaves the schema"),
    ],
)
def test_bad_schemas_are_refused_at_once(owner_client: Client, schema: str, words: str) -> None:
    began = time.perf_counter()
    page = owner_client.post(URL, {**FORM, "contract": "schema", "schema": schema, "constraint": "on"})
    assert page.status_code == 422 and words in page.content.decode()
    assert time.perf_counter() - began < 3 and not Run.objects.exists()


def test_a_recursive_schema_and_a_regex_bomb_are_fine(owner: User, execute: Execute) -> None:
    bomb = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}, "n": {"$ref": "#"}},
        "required": ["a"],
    }
    body = check({**BODY, "contract": "schema", "schema": bomb, "trials": 1, "max_tokens": 20})
    began = time.perf_counter()
    assert execute(owner, "structured", body).run.state == "succeeded"
    assert time.perf_counter() - began < 30


def test_a_model_is_built_from_the_form(owner_client: Client) -> None:
    form = {
        **FORM, "contract": "model", "name0": "low", "type0": "whole number", "low0": "1", "high0": "9", "required0": "on",
        "name1": "high", "type1": "whole number", "required1": "on", "small": "low", "large": "high",
    }  # fmt: skip
    assert owner_client.post(URL, form).status_code == 302
    run = Run.objects.get()
    assert run.input["schema"]["required"] == ["low", "high"]
    assert run.input["rule"] == {"small": "low", "large": "high"}
    assert 'value="low"' in owner_client.get(URL, {"run": str(run.pk)}).content.decode()


@pytest.mark.parametrize(
    "changes",
    [
        {"contract": "model"},
        {"contract": "model", "name0": "a b", "type0": "text"},
        {"contract": "model", "name0": "a", "type0": "text", "small": "a", "large": "b"},
        {"contract": "model", "name0": "a", "type0": "number", "low0": "9", "high0": "1"},
        {"contract": "nothing"},
        {"source": " \u200b"},
        {"trials": "13"},
        {"temperature": "-1"},
        {"max_tokens": "9999"},
    ],
)
def test_bad_input_keeps_what_was_typed(owner_client: Client, changes: dict[str, str]) -> None:
    page = owner_client.post(URL, {**FORM, **changes})
    assert page.status_code == 422 and not Run.objects.exists()
    if "source" not in changes:
        assert "lamp arrived broken" in page.content.decode()


@pytest.mark.parametrize(
    "changes",
    [{"trials": 13}, {"conditions": []}, {"conditions": ["x"]}, {"contract": "x"}, {"source": 3}, {"more": 1}, {"messages": []},
     {"contract": []}, {"contract": {}}, {"conditions": [[]]}, {"conditions": ["constrained", "constrained"]}, {"temperature": True},
     {"messages": [{"role": [], "content": "x"}]}, {"messages": [{"role": "tool", "content": "x"}]}, {"temperature": float("nan")},
     {"contract": "schema"}, {"contract": "schema", "schema": []}, {"contract": "model"}, {"contract": "model", "fields": 3}],
)  # fmt: skip
def test_the_api_refuses_what_the_form_refuses(changes: dict[str, Any]) -> None:
    with pytest.raises(InputRefused):
        check({**BODY, **changes})


FIELD: dict[str, Any] = {"name": "size", "type": "whole number", "required": True}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": []}, "name"), ({"name": "model_config"}, "can't name a field"), ({"name": "copy"}, "can't name a field"),
        ({"name": "two words"}, "can't name a field"), ({"type": []}, "type"), ({"type": "date"}, "type"), ({"low": "a"}, "low"),
        ({"low": 5, "high": 1}, "at least is above at most"), ({"high": float("inf")}, "high"), ({"choices": "1,2"}, "choices"),
        ({"choices": ["1", "many"]}, "'many' is no whole number"), ({"type": "text", "high": -1}, "0 to 10000"),
        ({"type": "text", "high": 2.5}, "0 to 10000"), ({"type": "yes or no", "low": 1}, "neither bounds nor choices"),
        ({"required": 1}, "required"), ({"extra": 1}, "Unknown key 'extra'"),
    ],
)  # fmt: skip
def test_a_field_that_no_model_can_have_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputRefused, match=said):
        check({**BODY, "contract": "model", "fields": [{**FIELD, **change}]})


@pytest.mark.parametrize("rule", [{}, [], {"small": "size", "large": 3}, {"small": "size", "large": "other"}])
def test_a_rule_names_two_numbers(rule: Any) -> None:
    with pytest.raises(InputRefused):
        check({**BODY, "contract": "model", "fields": [FIELD], "rule": rule})


def test_bounds_and_choices_reach_the_schema() -> None:
    fields = [
        {**FIELD, "choices": ["1", "2"]},
        {"name": "word", "type": "text", "required": True, "low": 2, "high": 3},
    ]
    properties = check({**BODY, "contract": "model", "fields": fields})["schema"]["properties"]
    assert properties["size"]["enum"] == [1, 2] and properties["size"]["type"] == "integer"
    assert (properties["word"]["minLength"], properties["word"]["maxLength"]) == (2, 3)


def test_a_cancelled_run_ends_cancelled(owner: User) -> None:
    run = services.run_cancel(services.run_create(owner=owner, kind="structured", input=check(BODY)))
    assert run.state == "cancelled" and run.trace.body["state"] == "cancelled"


def test_others_see_nothing(owner: User, other_client: Client, anonymous_client: Client) -> None:
    run = services.run_create(owner=owner, kind="structured", input=check(BODY))
    for client in (other_client, anonymous_client):
        assert client.get(URL, {"run": str(run.pk)}).status_code == 404
    assert other_client.get(reverse("playground:structured-output")).status_code == 200
