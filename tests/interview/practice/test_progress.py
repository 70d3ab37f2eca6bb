"""Progress: the heat map, histories with what changed, misconceptions shown and corrected; only one's own."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from interview.accounts.models import User
from interview.practice import progress
from interview.practice.models import Attempt
from interview.practice.progress import beliefs, heat_map, history, word_changes
from interview.questions.models import Question
from tests.factories import grade, make_attempt, verdict_for


def answered(owner: User, question: Question, text: str, score: float = 1.0, **changes: Any) -> Attempt:
    attempt = make_attempt(owner, question, text=text)
    state = "met" if score == 1 else "missing"
    return grade(attempt, {**verdict_for(attempt, state=state, score=score), **changes})


WRONG: list[dict[str, Any]] = [
    {"id": "flat", "right": "Every token adds keys and values.", "evidence": [0, 3]}
]


@settings(max_examples=60, deadline=None)
@given(st.text("ab .\n", max_size=40), st.text("ab .\n", max_size=40))
def test_changes_give_both_texts_back(before: str, after: str) -> None:
    changes = word_changes(before, after)
    assert "".join(change.text for change in changes if change.kind != "added") == before
    assert "".join(change.text for change in changes if change.kind != "gone") == after


def test_a_long_answer_is_compared_in_reasonable_time() -> None:
    before = " ".join(f"word{n}. Then more." for n in range(3_000))
    after = before.replace("word7.", "other.")
    assert [change.text.strip() for change in word_changes(before, after) if change.kind == "added"] == [
        "other."
    ]


@pytest.mark.django_db
def test_the_heat_map_takes_the_last_score(owner: User, other: User, question: Question) -> None:
    answered(owner, question, "First.", 0.0)
    answered(owner, question, "Second.", 1.0)
    answered(other, question, "Not mine.", 0.0)
    row = next(row for row in heat_map(owner) if row.topic.pk == question.topic_id)
    cell = row.cells[["warm-up", "mid", "senior", "staff"].index(question.level)]
    assert (cell.score, cell.n_answered, cell.state) == (1.0, 1, "met")
    assert cell.n_questions == Question.objects.filter(topic=question.topic, level=question.level).count()
    assert sum(cell.n_answered for row in heat_map(owner) for cell in row.cells) == 1


@pytest.mark.django_db
def test_a_history_shows_what_changed(owner: User, owner_client: Client, question: Question) -> None:
    answered(owner, question, "The cache is <b>fixed</b>.", 0.0)
    answered(owner, question, "The cache grows.", 1.0)
    newest = history(owner, question)[0]
    kinds = {change.kind: change.text for change in newest.changes}
    assert kinds["gone"].strip() == "is <b>fixed</b>." and kinds["added"].strip() == "grows."
    assert {(point.before, point.after) for point in newest.points} == {("Missing", "Met")}
    page = owner_client.get(reverse("practice:history", args=[question.pk])).content.decode()
    assert "<del>is &lt;b&gt;fixed&lt;/b&gt;.</del>" in page and "<ins>grows.</ins>" in page


@pytest.mark.django_db
def test_a_misconception_is_corrected_by_a_later_answer(
    owner: User, owner_client: Client, question: Question
) -> None:
    answered(owner, question, "It is fixed.", 0.0, misconceptions=WRONG)
    assert [belief.corrected for belief in beliefs(owner)] == [None]
    page = owner_client.get(reverse("practice:progress")).content.decode()
    assert "not corrected yet" in page and WRONG[0]["right"] in page
    last = answered(owner, question, "It grows.", 1.0)
    assert [belief.corrected for belief in beliefs(owner)] == [last.created]
    answered(owner, question, "It is fixed after all.", 0.0, misconceptions=WRONG)
    assert [belief.corrected for belief in beliefs(owner)] == [None]


@pytest.mark.django_db
def test_an_answer_that_was_not_assessed_corrects_nothing(owner: User, question: Question) -> None:
    answered(owner, question, "It is fixed.", 0.0, misconceptions=WRONG)
    answered(owner, question, "Der Cache wächst.", 0.0, verdict="not_assessed")
    assert [belief.corrected for belief in beliefs(owner)] == [None]


@pytest.mark.django_db
def test_only_ones_own(
    owner: User, owner_client: Client, other_client: Client, anonymous_client: Client, question: Question
) -> None:
    answered(owner, question, "My words.", 0.0, misconceptions=WRONG)
    url = reverse("practice:history", args=[question.pk])
    assert [client.get(url).status_code for client in (owner_client, other_client, anonymous_client)] == [
        200,
        404,
        404,
    ]
    for client in (other_client, anonymous_client):
        page = client.get(reverse("practice:progress"))
        assert page.status_code == 200 and "Nothing answered yet" in page.content.decode()


@pytest.mark.django_db
def test_queries(
    owner_client: Client, owner: User, question: Question, django_assert_max_num_queries: Any
) -> None:
    for other_question in Question.objects.filter(topic=question.topic):
        answered(owner, other_question, "Something.", 0.5)
    with django_assert_max_num_queries(11):
        owner_client.get(reverse("practice:progress"))
    with django_assert_max_num_queries(6):
        owner_client.get(reverse("practice:history", args=[question.pk]))


def test_a_long_history_shows_its_end(
    owner: User, owner_client: Client, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "HISTORY", 2)
    for number in range(4):
        make_attempt(owner, question, text=f"It grows, said {number} times.")
    assert [item.attempt.text[15] for item in history(owner, question)] == ["3", "2"]
    assert all(item.changes for item in history(owner, question))
    page = owner_client.get(reverse("practice:history", args=[question.pk])).content.decode()
    assert "The last 2 of your 4 answers" in page
