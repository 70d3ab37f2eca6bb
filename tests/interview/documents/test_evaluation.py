"""Evaluations: sets that are read or refused by line, figures worked out by hand, a run with the real models."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from interview.accounts.models import User
from interview.documents import scoring
from interview.documents.eval_services import drawn
from interview.documents.models import Evaluation
from interview.documents.question_sets import SetRefused, read, sample
from interview.runs.models import Run
from interview.runs.worker import Worker
from tests.interview.documents import files
from tests.interview.documents.conftest import work

pytestmark = pytest.mark.django_db
URL = "/documents/evaluation/"


def row(answers: list[str], answer: str, **changes: Any) -> dict[str, Any]:
    made = {
        "answers": answers,
        "answer": answer,
        "abstained": not answer,
        "exact": scoring.exact(answer, answers),
        "f1": scoring.f1(answer, answers),
        "retrieved": bool(answers),
        "confidence": 0.5,
        "n_claims": int(bool(answer)),
        "n_unsupported": 0,
    }
    made["told_f1"] = made["f1"]
    return made | changes


def test_the_sample_has_a_hundred_questions_in_two_halves() -> None:
    items = sample()
    assert (len(items), sum(bool(item["answers"]) for item in items)) == (100, 50)
    assert all(item["context"] for item in items)


@pytest.mark.parametrize(
    ("said", "gold", "em", "f1"),
    [
        ("The Keeper!", ["keeper"], 1, 1),
        ("Ida Quill", ["Ida Quill, the keeper"], 0, 0.8),
        ("in 1871", ["1871", "the year 1871"], 0, 2 / 3),
        ("", ["1871"], 0, 0),
        ("nobody", [], 0, 0),
    ],
)
def test_answers_are_compared_as_squad_does(said: str, gold: list[str], em: float, f1: float) -> None:
    assert scoring.exact(said, gold) == em
    assert scoring.f1(said, gold) == pytest.approx(f1)


def test_figures_by_hand() -> None:
    rows = [
        row(["1871"], "1871"),
        row(["granite"], ""),
        row(["Ida Quill"], "Ida", n_claims=2, n_unsupported=1),
        row([], "", retrieved=None),
        row([], "wrong", n_claims=1, n_unsupported=1),
    ]
    found = {name: value and value["value"] for name, value in scoring.summary(rows).items()}
    assert found["answered_when_answerable"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["abstained_when_unanswerable"] == 0.5
    assert found["balanced_accuracy"] == pytest.approx((2 / 3 + 1 / 2) / 2, abs=1e-4)
    assert found["abstention_precision"] == 0.5
    assert found["exact_match"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["f1"] == pytest.approx((1 + 0 + 2 / 3) / 3, abs=1e-4)
    assert found["unsupported_claims"] == 0.5
    assert found["unsupported_claims_unanswerable"] == 1
    assert found["wrong_when_answered"] == pytest.approx(1 / 3, abs=1e-4)
    interval = scoring.summary(rows)["f1"]
    assert interval and interval["low"] <= interval["value"] <= interval["high"]
    assert scoring.summary([row([], "")])["f1"] is None


def test_risk_falls_with_coverage_when_the_order_is_sure() -> None:
    rows = [row(["ash"], "ash", confidence=0.9), row(["birch"], "cedar", confidence=0.1)] * 10
    curve = scoring.risk_coverage(rows)
    assert (curve[9], curve[-1]) == ({"coverage": 0.5, "risk": 0.0}, {"coverage": 1.0, "risk": 0.5})


def test_a_curve_of_few_questions_repeats_no_point() -> None:
    rows = [row(["ash"], "ash", confidence=0.9), row([], "birch", confidence=0.5), row(["a"], "a")]
    assert [point["coverage"] for point in scoring.risk_coverage(rows)] == [0.3333, 0.6667, 1.0]


def test_a_part_of_a_set_is_drawn_from_both_halves_and_the_same_every_time() -> None:
    part = drawn(sample(), 10)
    assert part == drawn(sample(), 10) and len(part) == 10
    assert sum(bool(item["answers"]) for item in part) == 5


SQUAD = {"data": [{"paragraphs": [{"context": "C", "qas": [{"question": "Q", "answers": [{"text": "C"}]}, {"question": "R", "answers": [], "is_impossible": True}]}]}]}  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "items"),
    [
        (json.dumps([{"question": "Q", "answers": ["A", "A", "B"]}]), [("Q", ["A", "B"], "")]),
        (json.dumps(SQUAD), [("Q", ["C"], "C"), ("R", [], "C")]),
        ("question,answer,context\nQ,A|B,C\nR,,C\n", [("Q", ["A", "B"], "C"), ("R", [], "C")]),
        ("\ufeffquestion,answer\nQ,A\n", [("Q", ["A"], "")]),
    ],
)
def test_sets_are_read(raw: str, items: list[tuple[str, list[str], str]]) -> None:
    assert [(i["question"], i["answers"], i["context"]) for i in read(raw.encode(), "set")] == items


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "columns question and answer"),
        (b"[]", "no question"),
        (b"{", "not JSON"),
        (b"[1]", "Question 1 is not an object"),
        (b'[{"question": ""}]', "Question 1 is empty"),
        (b'[{"question": "Q"}, {"question": 5}]', "Question 2: question must be text"),
        (b'[{"question": "Q", "answers": "A"}]', "answers must be a list"),
        (b'[{"question": "Q", "context": "C"}, {"question": "R"}]', "Give it to all, or to none"),
        (b'{"data": [{}]}', "SQuAD's layout"),
        (json.dumps([{"question": "Q"}] * 201).encode(), "200 is the limit"),
        (json.dumps([{"question": "x" * 2001}]).encode(), "more than 2,000 characters"),
        (b"\xff\xfe", "not UTF-8"),
        (b"name,value\n1,2\n", "columns question and answer"),
        (b'question,answer\nWhat?,"open\nWho?,me\n', "line 2 "),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_set_says_where(raw: bytes, words: str) -> None:
    with pytest.raises(SetRefused, match=words.replace("(", r"\(")):
        read(raw, "set")


def begin(client: Client, body: bytes | None = None, **changes: str) -> Any:
    form: dict[str, Any] = {"source": "sample", "style": "quote", "most": "4", "scope": "", "name": "", "idempotency_key": "k1"}  # fmt: skip
    if body is not None:
        form |= {"source": "file", "file": SimpleUploadedFile("own.csv", body)}
    return client.post(URL, form | changes)


def own_set() -> bytes:
    context = files.LIGHTHOUSE.replace('"', "")
    return (
        "question,answer,context\n"
        f'When was the lighthouse at Marrow Point built?,1871,"{context}"\n'
        f'Which football club won the Peruvian league in 1998?,,"{context}"\n'
    ).encode()


def test_a_set_is_run_both_ways_kept_and_compared(
    owner: User, owner_client: Client, other_client: Client, asking_worker: Worker
) -> None:
    sent = begin(owner_client, own_set())
    assert sent.status_code == 302
    assert owner_client.get(sent["Location"]).status_code == 200
    work(asking_worker)
    evaluation = Evaluation.objects.get()
    assert evaluation.run is not None
    assert evaluation.run.state == "succeeded", evaluation.run.reason
    results = evaluation.results
    assert results is not None and len(results["rows"]) == 2
    assert results["rows"][1]["abstained"] and results["rows"][1]["reason"] == "off_topic"
    assert results["grounded"]["retrieval_in_5"]["value"] == 1
    assert set(results["versions"]) >= {"ask", "thresholds", "model"}
    page = owner_client.get(sent["Location"]).content.decode()
    assert "Balanced accuracy" in page and "<svg" in page and "Peruvian" in page
    assert "abstained: no passage near enough" in page
    assert "own.csv" in owner_client.get(URL).content.decode()
    assert owner_client.get(sent["Location"] + "?format=json").json()["rows"] == results["rows"]
    for path in (sent["Location"], f"{URL}?run={evaluation.run_id}", sent["Location"] + "?format=json"):
        assert other_client.get(path).status_code == 404
    assert other_client.post(sent["Location"] + "delete/").status_code == 404
    assert owner_client.post(sent["Location"] + "delete/").status_code == 302
    assert not Evaluation.objects.exists()


def kept(owner: User, name: str, rows: list[dict[str, Any]]) -> Evaluation:
    """An evaluation as its run leaves it."""
    shown = [
        {"question": f"Q{i}", "reason": "", "alone": "", "alone_f1": 0.0} | one for i, one in enumerate(rows)
    ]
    alone = [row(one["answers"], "") for one in rows]
    results = {
        "grounded": scoring.summary(rows),
        "alone": scoring.summary(alone),
        "risk_coverage": {"grounded": scoring.risk_coverage(rows), "alone": scoring.risk_coverage(alone)},
        "rows": shown,
        "versions": {"adapter": name, "model": {"name": "m"}},
        "seconds": 1.0,
    }
    return Evaluation.objects.create(owner=owner, name=name, style="quote", questions=[], results=results)


def test_results_tell_why_and_both_curves_and_are_compared(owner: User, owner_client: Client) -> None:
    rows = [row(["1871"], "1871"), row([], "", reason="not_stated"), row(["a"], "", reason="off_topic")]
    first, second = kept(owner, "adapter one", rows), kept(owner, "adapter two", rows[:2])
    page = owner_client.get(f"{URL}{first.pk}/").content.decode()
    assert "abstained: no passage states it" in page
    assert "abstained: no passage near enough" in page
    # All of them asked: two of three are wrong with passages, and all without.
    last = page.split("Risk with passages")[1].split("</tbody>")[0].rsplit("<tr>", 1)[1]
    assert "".join(last.split()).count('<tdclass="num">100.0') == 2
    listed = owner_client.get(URL).content.decode().split("Evaluations compared")[1]
    assert all(listed.count(made.name) == 2 for made in (first, second))  # its name, and its version
    assert '<td class="num">3</td>' in listed and '<td class="num">2</td>' in listed


def test_a_double_click_is_one_evaluation(owner_client: Client) -> None:
    assert begin(owner_client)["Location"] == begin(owner_client)["Location"]
    assert Evaluation.objects.count() == Run.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"most": "0"}, "most"),
        ({"style": "x"}, "style"),
        ({"source": "x"}, "source"),
        ({"source": "file"}, "file"),
    ],
)
def test_a_bad_value_is_named(owner_client: Client, changes: dict[str, str], field: str) -> None:
    response = begin(owner_client, None, **changes)
    assert response.status_code == 422 and response.context["form"].errors[field]
    assert not Evaluation.objects.exists()


def test_a_bad_file_is_named_by_its_line(owner_client: Client) -> None:
    response = begin(owner_client, b'[{"question": "Q"}, {"question": 5}]')
    assert response.status_code == 422
    assert "Question 2: question must be text." in response.content.decode()


def test_stopping_keeps_no_half_results(owner_client: Client, asking_worker: Worker) -> None:
    begin(owner_client)
    evaluation = Evaluation.objects.get()
    assert evaluation.run is not None
    owner_client.post(f"/runs/{evaluation.run.pk}/cancel/")
    work(asking_worker)
    evaluation.refresh_from_db()
    assert evaluation.results is None
    assert "cancelled" in owner_client.get(f"{URL}{evaluation.pk}/").content.decode()


def test_a_set_holds_only_what_can_be_stored_and_seen() -> None:
    lone = read(b'[{"question": "Why \\ud800?", "answers": ["\\ud800"], "context": "c\\u0000"}]', "a.json")
    assert lone == [{"question": "Why \ufffd?", "answers": ["\ufffd"], "context": "c\ufffd"}]
    for bad, word in [
        ('[{"question": "\\u200b"}]', "Question 1 is empty"),
        ('{"data": [{"paragraphs": 5}]}', "of another type"),
        ('{"data": [{"title": "x"}]}', "'paragraphs' is missing"),
        ('[{"question": ' + "9" * 5000 + "}]", "huge number"),
    ]:
        with pytest.raises(SetRefused, match=word):
            read(bad.encode(), "a.json")
