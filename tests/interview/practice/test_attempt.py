"""The attempt's page: own answers only, waiting or with a verdict, and no key point before one's own answer."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.practice.models import Attempt, ReviewCard
from interview.practice.selectors import answer_pieces, verdict_view
from interview.questions.models import Question
from interview.runs import services as runs
from interview.runs.models import Run
from tests.factories import grade, make_attempt, verdict_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def attempt(owner: User, question: Question) -> Attempt:
    return make_attempt(owner, question)


def page(client: Client, attempt: Attempt) -> str:
    return client.get(reverse("practice:attempt", args=[attempt.pk])).content.decode()


def test_the_three_personas(
    owner_client: Client, other_client: Client, anonymous_client: Client, attempt: Attempt
) -> None:
    url = reverse("practice:attempt", args=[attempt.pk])
    statuses = [client.get(url).status_code for client in (owner_client, other_client, anonymous_client)]
    assert statuses == [200, 404, 404]


def test_waiting_says_that_it_is_saved(owner_client: Client, attempt: Attempt) -> None:
    assert "Saved. No worker is ready yet" in page(owner_client, attempt)


def test_no_key_point_before_the_verdict(owner_client: Client, question: Question, attempt: Attempt) -> None:
    pages = [
        page(owner_client, attempt),
        owner_client.get(reverse("practice:question", args=[question.pk])).content.decode(),
        owner_client.get(reverse("questions:question_list")).content.decode(),
        owner_client.get(f"/api/v1/questions/{question.pk}").content.decode(),
        owner_client.get(f"/api/v1/attempts/{attempt.pk}").content.decode(),
    ]
    for text in pages:
        for point in question.rubric.body["points"]:  # type: ignore[union-attr]
            assert point["means"] not in text
        assert question.strong[:60] not in text


def test_no_link_hints_at_the_answer_before_it(owner_client: Client, owner: User, question: Question) -> None:
    url = reverse("practice:question", args=[question.pk])
    assert question.calculators and question.playground
    hints = [link["label"] for link in [*question.calculators, *question.playground]]
    before = owner_client.get(url).content.decode()
    make_attempt(owner, question)
    after = owner_client.get(url).content.decode()
    for hint in hints:
        assert hint not in before and hint in after


def test_the_verdict_shows_points_words_and_answers(owner_client: Client, attempt: Attempt) -> None:
    grade(attempt, verdict_for(attempt, state="partial", score=0.5))
    text = page(owner_client, attempt)
    assert "A strong answer" in text
    assert 'class="evidence is-partial"' in text
    assert "next review on" in text


def test_a_failed_assessment_can_be_asked_for_again(owner_client: Client, attempt: Attempt) -> None:
    run = runs.run_claim(str(attempt.run_id), worker="host:1")
    assert run is not None
    runs.run_fail(run, "It broke.", {})
    assert "It broke." in page(owner_client, attempt)
    owner_client.post(reverse("practice:regrade", args=[attempt.pk]))
    attempt.refresh_from_db()
    assert attempt.run is not None
    assert (attempt.run.state, attempt.run.input["answer"]) == ("queued", attempt.text)


def test_others_cannot_ask_for_it_again(other_client: Client, attempt: Attempt) -> None:
    assert other_client.post(reverse("practice:regrade", args=[attempt.pk])).status_code == 404


def test_a_verdict_is_kept_once(attempt: Attempt) -> None:
    grade(attempt, verdict_for(attempt))
    runs_before = ReviewCard.objects.get().updated
    assert attempt.run is not None
    Run.objects.filter(pk=attempt.run.pk).update(state="queued")
    again = runs.run_claim(str(attempt.run_id), worker="host:2")
    assert again is not None
    attempt.refresh_from_db()
    assert attempt.verdict is not None
    assert ReviewCard.objects.get().updated == runs_before


def test_a_bad_verdict_is_due_sooner_than_a_good_one(owner: User, other: User, question: Question) -> None:
    good = make_attempt(owner, question)
    bad = make_attempt(other, question)
    grade(good, verdict_for(good))
    grade(bad, verdict_for(bad, state="missing", score=0.0))
    due = {card.owner_id: card.due_on for card in ReviewCard.objects.all()}
    assert due[other.pk] < due[owner.pk]


def test_the_probe_targets_the_worst_point(owner_client: Client, attempt: Attempt) -> None:
    verdict = verdict_for(attempt)
    verdict["points"][1]["state"] = "contradicted"
    verdict["points"][0]["state"] = "missing"
    view = verdict_view(grade(attempt, verdict))
    assert view is not None
    assert view.probe is not None
    assert view.probe.point == attempt.rubric.body["points"][1]["id"]


def test_a_probe_is_answered_on_the_same_page(owner_client: Client, attempt: Attempt) -> None:
    grade(attempt, verdict_for(attempt, state="missing", score=0.0))
    view = verdict_view(attempt)
    assert view is not None
    assert view.probe is not None
    url = reverse("practice:probe_submit", args=[attempt.pk, view.probe.index])
    assert owner_client.post(url, {"text": " ", "idempotency_key": "p0"}).status_code == 422
    sent = owner_client.post(url, {"text": "An answer to the probe.", "idempotency_key": "p1"})
    answer = Attempt.objects.get(parent=attempt)
    assert sent["Location"].endswith(f"#followup-{answer.pk}")
    assert f'id="followup-{answer.pk}"' in page(owner_client, attempt)
    assert answer.run is not None
    points = answer.run.input["rubric"]["points"]
    assert [point["id"] for point in points] == [view.probe.point]
    assert "An answer to the probe." in page(owner_client, attempt)


def test_a_follow_up_to_a_point_that_is_gone_is_refused_with_its_text(
    owner_client: Client, attempt: Attempt
) -> None:
    grade(attempt, verdict_for(attempt, state="missing", score=0.0))
    Question.objects.filter(pk=attempt.question_id).update(probes=[{"point": "new", "ask": "And now?"}])
    url = reverse("practice:probe_submit", args=[attempt.pk, 0])
    answer = owner_client.post(url, {"text": "Late words.", "idempotency_key": "p1"})
    assert answer.status_code == 422 and "was changed since" in answer.content.decode()
    assert not Attempt.objects.filter(parent=attempt).exists()


def test_evidence_may_overlap() -> None:
    points = [
        {"id": "a", "number": 1, "evidence": [0, 6], "state": "met"},
        {"id": "b", "number": 2, "evidence": [4, 9], "state": "contradicted"},
        {"id": "c", "number": 3, "evidence": None, "state": "missing"},
    ]
    pieces = answer_pieces("0123456789", points)
    assert "".join(piece.text for piece in pieces) == "0123456789"
    assert [(piece.text, piece.numbers, piece.state) for piece in pieces] == [
        ("0123", (), "met"),
        ("45", (1,), "contradicted"),
        ("678", (2,), "contradicted"),
        ("9", (), ""),
    ]
