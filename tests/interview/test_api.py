"""The JSON API: contracts, stable error codes, three personas, idempotency."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from interview.accounts.models import User
from interview.practice.models import Attempt
from interview.questions.models import Question
from interview.runs import services
from interview.runs.chain import canonical_hash
from interview.runs.models import Run
from tests.factories import ANSWER, make_attempt, make_run

pytestmark = pytest.mark.django_db
BODY = {"kind": "generate", "input": {"prompt": "Hello", "sampling": {"max_tokens": 4}}}


def post(client: Client, path: str, body: object) -> HttpResponse:
    raw = body if isinstance(body, str | bytes) else json.dumps(body)
    return client.post(f"/api/v1{path}", raw, content_type="application/json")  # type: ignore[return-value]


def answer(asked: Question, /, **changes: object) -> dict[str, object]:
    return {"question": asked.pk, "answer": ANSWER, "idempotency_key": "key-1", **changes}


def test_questions_are_listed_without_their_rubric(anonymous_client: Client, question: Question) -> None:
    listed = anonymous_client.get("/api/v1/questions", {"search": "long context"}).json()
    assert question.pk in [item["id"] for item in listed["items"]]
    assert set(listed["items"][0]) == {"id", "title", "topic", "level", "prompt", "url"}


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "x"}, {"offset": "-1"}, {"limit": "99999999999"}]
)
def test_a_bad_page_is_422_with_its_place(anonymous_client: Client, query: dict[str, str]) -> None:
    response = anonymous_client.get("/api/v1/questions", query)
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"][-1] == next(iter(query))


def test_an_attempt_is_accepted_once(owner_client: Client, question: Question) -> None:
    first = post(owner_client, "/attempts", answer(question))
    second = post(owner_client, "/attempts", answer(question))
    assert (first.status_code, second.status_code) == (202, 202)
    assert json.loads(first.content)["id"] == json.loads(second.content)["id"]
    assert json.loads(first.content)["state"] == "queued"
    assert Attempt.objects.count() == 1


def test_the_same_key_with_another_answer_is_409(owner_client: Client, question: Question) -> None:
    post(owner_client, "/attempts", answer(question))
    response = post(owner_client, "/attempts", answer(question, answer="Something else."))
    assert response.status_code == 409
    assert json.loads(response.content)["code"] == "idempotency_conflict"


@pytest.mark.parametrize(
    "changes",
    [
        {"answer": ""},
        {"answer": "\u200b"},
        {"answer": "x" * 100_000},
        {"answer": 5},
        {"answer": None},
        {"answer": "a\ud800b"},
        {"idempotency_key": ""},
        {"idempotency_key": "a b"},
        {"question": "x" * 100},
    ],
)
def test_a_bad_attempt_is_422(owner_client: Client, question: Question, changes: dict[str, object]) -> None:
    response = post(owner_client, "/attempts", answer(question, **changes))
    assert response.status_code == 422
    assert json.loads(response.content)["detail"][0]["msg"]
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("text", ["a\x00b", "<script>alert(1)</script>"])
def test_odd_text_is_stored(owner_client: Client, question: Question, text: str) -> None:
    assert post(owner_client, "/attempts", answer(question, answer=text)).status_code == 202
    assert Attempt.objects.get().text == text.replace("\x00", "\ufffd")


def test_an_unknown_question_is_404(owner_client: Client, question: Question) -> None:
    response = post(owner_client, "/attempts", answer(question, question="nope"))
    assert response.status_code == 404
    assert json.loads(response.content)["code"] == "not_found"


@pytest.mark.parametrize("body", ["", "{", "[]", "null", b"\xff\xfe"])
def test_a_malformed_body_is_a_client_error(owner_client: Client, body: Any) -> None:
    response = post(owner_client, "/attempts", body)
    assert response.status_code in (400, 422)
    assert json.loads(response.content)["code"] in ("malformed", "invalid")


def test_attempts_are_private(
    owner: User, question: Question, owner_client: Client, other_client: Client
) -> None:
    path = f"/api/v1/attempts/{make_attempt(owner, question).pk}"
    assert owner_client.get(path).status_code == 200
    assert other_client.get(path).status_code == 404
    assert Client().get(path).status_code == 401


def test_a_run_is_queued_read_cancelled_and_traced(owner_client: Client) -> None:
    made = json.loads(post(owner_client, "/runs", BODY).content)
    assert (made["state"], made["position"]) == ("queued", 1)
    assert owner_client.get(f"/api/v1/runs/{made['id']}/trace").status_code == 404
    cancelled = json.loads(post(owner_client, f"/runs/{made['id']}/cancel", "").content)
    assert cancelled["state"] == "cancelled"
    record = owner_client.get(f"/api/v1/runs/{made['id']}/trace").json()
    assert record["hash"] == canonical_hash(record["trace"])


@pytest.mark.parametrize("way", ["", "/trace"])
def test_runs_are_private(owner: User, owner_client: Client, other_client: Client, way: str) -> None:
    run = make_run(owner)
    services.run_cancel(run)
    path = f"/api/v1/runs/{run.pk}{way}"
    assert owner_client.get(path).status_code == 200
    assert other_client.get(path).status_code == 404
    assert Client().get(path).status_code == 401
    assert post(other_client, f"/runs/{run.pk}/cancel", "").status_code == 404


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({**BODY, "kind": "grade"}, "unknown_kind"),
        ({**BODY, "kind": "nope"}, "unknown_kind"),
        ({**BODY, "input": {"prompt": "x", "sampling": {"temperature": -1}}}, "invalid_sampling"),
        ({**BODY, "input": {"prompt": "x", "sampling": {"max_tokens": 0}}}, "invalid_sampling"),
        ({**BODY, "input": {"prompt": "x", "sampling": {"heat": 1}}}, "invalid_sampling"),
        ({**BODY, "input": {"prompt": "x", "extra": 1}}, "invalid_request"),
        ({**BODY, "input": {}}, "invalid_request"),
        ({**BODY, "input": {"prompt": "x", "sampling": {"logit_bias": {"999999": 1}}}}, "invalid_sampling"),
        ({**BODY, "input": {"prompt": "x", "continue_ids": [49152]}}, "invalid_request"),
        ({**BODY, "input": {"prompt": "word " * 9000}}, "prompt_too_long"),
        ({**BODY, "input": {"prompt": "x", "schema": {"uniqueItems": True}}}, "unsupported_schema"),
        ({**BODY, "input": {"prompt": "x", "schema": {"type": "strnig"}}}, "invalid_schema"),
    ],
)
def test_a_bad_run_is_named(owner_client: Client, body: object, code: str) -> None:
    response = post(owner_client, "/runs", body)
    assert response.status_code == 422
    assert json.loads(response.content)["code"] == code
    assert not Run.objects.exists()


def test_nan_in_json_is_refused(owner_client: Client) -> None:
    raw = '{"kind":"generate","input":{"prompt":"x","sampling":{"temperature":NaN}}}'
    assert post(owner_client, "/runs", raw).status_code in (400, 422)


def test_over_quota_is_429(owner: User, owner_client: Client, settings: Any) -> None:
    settings.RUN_QUEUE_LIMIT = 1
    make_run(owner)
    response = post(owner_client, "/runs", BODY)
    assert response.status_code == 429
    assert json.loads(response.content)["code"] == "quota_exceeded"


def test_the_same_key_is_the_same_run(owner_client: Client) -> None:
    body = {**BODY, "idempotency_key": "k"}
    ids = {json.loads(post(owner_client, "/runs", body).content)["id"] for _ in range(2)}
    assert len(ids) == 1
    changed = {**body, "input": {"prompt": "Bye", "sampling": {"max_tokens": 4}}}
    assert post(owner_client, "/runs", changed).status_code == 409


def keyed(client: Client, key: str, **changes: object) -> Any:
    raw = json.dumps({**BODY, **changes})
    return client.post("/api/v1/runs", raw, content_type="application/json", headers={"Idempotency-Key": key})


def test_the_header_is_the_same_key(owner_client: Client) -> None:
    first = keyed(owner_client, "k-1").json()["id"]
    assert keyed(owner_client, "k-1").json()["id"] == first
    assert keyed(owner_client, "k-1", idempotency_key="k-1").json()["id"] == first
    assert json.loads(post(owner_client, "/runs", {**BODY, "idempotency_key": "k-1"}).content)["id"] == first
    assert keyed(owner_client, "k-1", input={"prompt": "Bye"}).status_code == 409
    assert Run.objects.count() == 1


@pytest.mark.parametrize("key", ["other", "a b", "x" * 61])
def test_a_header_that_contradicts_or_is_no_key_is_422(owner_client: Client, key: str) -> None:
    response = keyed(owner_client, key, idempotency_key="k")
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == ["header", "Idempotency-Key"]
    assert not Run.objects.exists()


def test_an_unknown_token_is_refused_at_its_field(owner_client: Client) -> None:
    body = {"prompt": "x", "sampling": {"logit_bias": {"49152": 1}}}
    detail = json.loads(post(owner_client, "/runs", {**BODY, "input": body}).content)["detail"][0]
    assert detail["loc"] == ["body", "input", "logit_bias"] and "49152 tokens" in detail["msg"]
    body["sampling"] = {"logit_bias": {"49151": 1}}
    assert post(owner_client, "/runs", {**BODY, "input": body}).status_code == 202


def test_unknown_things_are_404(owner_client: Client) -> None:
    for path in (
        f"/api/v1/runs/{uuid.uuid4()}",
        f"/api/v1/attempts/{uuid.uuid4()}",
        "/api/v1/questions/nope",
    ):
        assert owner_client.get(path).status_code == 404


def test_the_description_names_every_path(anonymous_client: Client) -> None:
    paths = anonymous_client.get("/api/v1/openapi.json").json()["paths"]
    assert {"/api/v1/calculators/{slug}", "/api/v1/questions", "/api/v1/attempts", "/api/v1/runs"} <= set(
        paths
    )


def test_a_session_without_the_csrf_token_is_refused(owner: User, question: Question) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(owner)
    assert post(strict, "/attempts", answer(question)).status_code == 403
    assert not Attempt.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("get", "/api/v1/nope", 404, "not_found"),
        ("get", "/api/v1/attempts", 405, "method_not_allowed"),
        ("delete", "/api/v1/attempts", 405, "method_not_allowed"),
        ("get", f"/api/v1/runs/{uuid.UUID(int=1)}/events", 404, "not_found"),
        ("post", f"/api/v1/runs/{uuid.UUID(int=1)}/events", 405, "method_not_allowed"),
    ],
)
def test_errors_outside_the_handlers_are_json_too(
    owner_client: Client, method: str, path: str, status: int, code: str
) -> None:
    response = getattr(owner_client, method)(
        path, **({} if method == "get" else {"content_type": "application/json"})
    )
    assert (response.status_code, response.json()["code"]) == (status, code)
    if status == 405:
        assert response.headers["Allow"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_that_is_not_json_is_415(owner_client: Client, question: Question, kind: str) -> None:
    response = owner_client.post("/api/v1/attempts", json.dumps(answer(question)), content_type=kind)
    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")
    assert not Attempt.objects.exists()
