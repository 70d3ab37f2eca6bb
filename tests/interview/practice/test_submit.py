"""Submitting: one attempt however often it is clicked, and nothing typed is lost by a refusal."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from interview.practice.models import Attempt, Draft
from interview.questions.models import Question
from interview.runs.models import Run
from tests.factories import ANSWER

pytestmark = pytest.mark.django_db


def submit(client: Client, question: Question, text: str, key: str = "key-1") -> HttpResponse:
    url = reverse("practice:submit", args=[question.pk])
    return client.post(url, {"text": text, "idempotency_key": key, "elapsed_seconds": "12"})  # type: ignore[return-value]  # the test client's monkey-patched response


def test_it_queues_the_assessment_and_goes_to_the_attempt(owner_client: Client, question: Question) -> None:
    answer = submit(owner_client, question, ANSWER)
    attempt = Attempt.objects.get()
    assert answer.headers["Location"] == reverse("practice:attempt", args=[attempt.pk])
    assert attempt.rubric == question.rubric
    assert attempt.elapsed_seconds == 12
    assert attempt.run is not None
    assert attempt.run.input["rubric_hash"] == question.rubric.hash


def test_twice_is_one_attempt(owner_client: Client, question: Question) -> None:
    first = submit(owner_client, question, ANSWER)
    second = submit(owner_client, question, ANSWER)
    assert first.headers["Location"] == second.headers["Location"]
    assert Attempt.objects.count() == Run.objects.count() == 1


def test_the_same_key_with_another_text_is_refused_with_the_text(
    owner_client: Client, question: Question
) -> None:
    submit(owner_client, question, ANSWER)
    answer = submit(owner_client, question, "Something else entirely.")
    assert answer.status_code == 422
    assert "Something else entirely." in answer.content.decode()
    assert Attempt.objects.count() == 1


def test_the_draft_is_cleared_by_the_attempt(owner_client: Client, question: Question) -> None:
    owner_client.post(reverse("practice:draft_save", args=[question.pk]), {"text": ANSWER, "revision": 1})
    submit(owner_client, question, ANSWER)
    assert not Draft.objects.exists()


def test_what_another_window_wrote_stays_a_draft(owner_client: Client, question: Question) -> None:
    saving = reverse("practice:draft_save", args=[question.pk])
    owner_client.post(saving, {"text": "written in the other window", "revision": 4})
    url = reverse("practice:submit", args=[question.pk])
    owner_client.post(url, {"text": ANSWER, "idempotency_key": "key-1", "seen": "3"})
    assert Draft.objects.get().text == "written in the other window"
    owner_client.post(url, {"text": ANSWER + " More.", "idempotency_key": "key-2", "seen": "4"})
    assert not Draft.objects.exists()


def test_an_answer_by_the_api_leaves_a_draft_alone(owner_client: Client, question: Question) -> None:
    owner_client.post(reverse("practice:draft_save", args=[question.pk]), {"text": "begun", "revision": 1})
    body = {"question": question.pk, "answer": ANSWER, "idempotency_key": "key-1"}
    assert owner_client.post("/api/v1/attempts", body, content_type="application/json").status_code == 202
    assert Draft.objects.get().text == "begun"


def test_a_save_that_comes_after_its_answer_makes_no_draft(owner_client: Client, question: Question) -> None:
    submit(owner_client, question, ANSWER)
    saving = reverse("practice:draft_save", args=[question.pk])
    assert owner_client.post(saving, {"text": ANSWER[:40], "revision": 7}).json()["revision"] == 7
    assert not Draft.objects.exists()
    owner_client.post(saving, {"text": "A second try.", "revision": 8})
    assert Draft.objects.get().text == "A second try."


@pytest.mark.parametrize("text", ["", "   \n", "\u200b\u200d\ufeff"])
def test_nothing_to_assess_is_said(owner_client: Client, question: Question, text: str) -> None:
    answer = submit(owner_client, question, text)
    assert answer.status_code == 422
    assert "nothing to assess" in answer.content.decode()
    assert not Attempt.objects.exists()


def test_too_long_comes_back_whole(owner_client: Client, question: Question) -> None:
    answer = submit(owner_client, question, "y" * 100_000)
    assert answer.status_code == 422
    assert "y" * 100_000 in answer.content.decode()
    assert "100,000 characters" in answer.content.decode()


def test_a_missing_key_keeps_the_text(owner_client: Client, question: Question) -> None:
    answer = submit(owner_client, question, ANSWER, key="")
    assert answer.status_code == 422
    assert "KV cache grows linearly" in answer.content.decode()


def test_odd_text_is_stored_inert(owner_client: Client, question: Question) -> None:
    submit(owner_client, question, "<script>alert(1)</script> a\x00b")
    attempt = Attempt.objects.get()
    assert attempt.text == "<script>alert(1)</script> a\ufffdb"
    page = owner_client.get(reverse("practice:attempt", args=[attempt.pk])).content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;" in page


def test_an_unknown_question_is_404(owner_client: Client, bank: object) -> None:
    url = reverse("practice:submit", args=["no-such-question"])
    assert owner_client.post(url, {"text": ANSWER, "idempotency_key": "k"}).status_code == 404


def test_get_is_not_a_way_to_submit(owner_client: Client, question: Question) -> None:
    assert owner_client.get(reverse("practice:submit", args=[question.pk])).status_code == 405
