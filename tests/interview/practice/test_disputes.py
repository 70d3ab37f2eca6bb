"""A learner disputes a verdict, a reviewer rules on it: who sees what, what stays on record."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.practice import disputes
from interview.practice.models import Attempt, Dispute, Ruling
from interview.questions.models import Question
from tests.interview.practice.test_review_days import answered, url

LIST = "practice:dispute_list"


def case_url(attempt: Attempt) -> str:
    return reverse("practice:dispute_case", args=[attempt.pk])


@pytest.fixture
def disputed(owner: User, question: Question) -> Attempt:
    attempt = answered(owner, question, score=0.5)
    disputes.dispute_open(attempt=attempt, note="I said <b>linear</b>.")
    return attempt


@pytest.fixture
def reviewer_client(other: User, other_client: Client) -> Client:
    other.is_staff = True
    other.save()
    return other_client


@pytest.mark.django_db
def test_a_reviewer_sees_the_answer_without_its_writer(
    reviewer_client: Client, disputed: Attempt, owner: User
) -> None:
    page = reviewer_client.get(reverse(LIST)).content.decode()
    assert case_url(disputed) in page and "Waiting for a ruling" in page
    case = reviewer_client.get(case_url(disputed)).content.decode()
    assert disputed.text[:40] in case and "I said &lt;b&gt;linear&lt;/b&gt;." in case
    assert owner.name not in case + page and str(owner.email) not in case + page


@pytest.mark.django_db
def test_a_ruling_stands_beside_the_verdict_and_reaches_the_learner(
    reviewer_client: Client, owner_client: Client, disputed: Attempt, other: User
) -> None:
    sent = {"outcome": "changed", "percent": "80", "reason": "The second sentence says it."}
    assert reviewer_client.post(case_url(disputed), sent).status_code == 302
    ruling = Ruling.objects.get()
    assert (ruling.author, ruling.outcome, ruling.score) == (other, "changed", 0.8)
    before = (disputed.score, disputed.verdict)
    disputed.refresh_from_db()
    assert (disputed.score, disputed.verdict) == before
    shown = owner_client.get(reverse("practice:attempt", args=[disputed.pk])).content.decode()
    assert "80" in shown and "The second sentence says it." in shown and "Take that back" not in shown
    assert "The verdict was wrong" in owner_client.get(reverse(LIST)).content.decode()
    assert "Nothing waits." in reviewer_client.get(reverse(LIST)).content.decode()


@pytest.mark.django_db
def test_what_was_ruled_on_stays_on_record(
    reviewer_client: Client, owner_client: Client, disputed: Attempt
) -> None:
    for reason in ("It stands.", "It still stands."):
        reviewer_client.post(case_url(disputed), {"outcome": "upheld", "reason": reason})
    assert [row.reason for row in Ruling.objects.all()] == ["It still stands.", "It stands."]
    owner_client.post(url("dispute", disputed), {"withdraw": "1"})
    owner_client.post(url("dispute", disputed), {"note": "Once more."})
    assert Dispute.objects.get().note == "I said <b>linear</b>."
    assert Ruling.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"outcome": "changed", "reason": "Better."},
        {"outcome": "changed", "percent": "101", "reason": "Better."},
        {"outcome": "changed", "percent": "nan", "reason": "Better."},
        {"outcome": "upheld", "percent": "50", "reason": "It stands."},
        {"outcome": "deleted", "reason": "Gone."},
        {"outcome": "upheld", "reason": "  "},
        {"outcome": "upheld", "reason": "x" * 2_001},
    ],
)
def test_a_bad_ruling_is_refused_and_nothing_is_written(
    reviewer_client: Client, disputed: Attempt, sent: dict[str, str]
) -> None:
    assert reviewer_client.post(case_url(disputed), sent).status_code == 422
    assert not Ruling.objects.exists()


@pytest.mark.django_db
def test_only_reviewers_read_and_rule(
    owner_client: Client, other_client: Client, anonymous_client: Client, disputed: Attempt
) -> None:
    for client in (owner_client, other_client, anonymous_client):
        assert client.get(case_url(disputed)).status_code == 404
        assert client.post(case_url(disputed), {"outcome": "upheld", "reason": "No."}).status_code == 404
        assert "Waiting for a ruling" not in client.get(reverse(LIST)).content.decode()
    assert case_url(disputed) not in other_client.get(reverse(LIST)).content.decode()
    assert not Ruling.objects.exists()


@pytest.mark.django_db
def test_nobody_rules_on_a_verdict_of_their_own(owner: User, owner_client: Client, disputed: Attempt) -> None:
    owner.is_staff = True
    owner.save()
    page = owner_client.post(case_url(disputed), {"outcome": "upheld", "reason": "Mine."})
    assert page.status_code == 422 and "Nobody rules on a verdict of their own." in page.content.decode()


@pytest.mark.django_db
def test_the_queue_takes_few_queries(
    reviewer_client: Client, owner: User, question: Question, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        disputes.dispute_open(attempt=answered(owner, question, score=0.0), note="")
    with django_assert_max_num_queries(12):
        reviewer_client.get(reverse(LIST))
