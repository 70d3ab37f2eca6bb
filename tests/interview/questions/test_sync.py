"""Loading the bank: the files win, a changed rubric is a new version, nothing is ever deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.rubric import Rubric
from interview.questions.loader import Bank
from interview.questions.models import Question, RubricVersion, Topic
from interview.questions.services import bank_sync

pytestmark = pytest.mark.django_db


def changed(bank: Bank, **fields: Any) -> Bank:
    """The bank with its first question changed."""
    first, *rest = bank.questions
    return replace(bank, questions=(replace(first, **fields), *rest))


def test_a_second_load_writes_nothing_new(parsed_bank: Bank, django_assert_max_num_queries: Any) -> None:
    n_questions = len(parsed_bank.questions)
    with django_assert_max_num_queries(14):
        first = bank_sync(parsed_bank)
    assert (first.questions, first.new_rubrics, first.retired) == (n_questions, n_questions, 0)
    with django_assert_max_num_queries(12):
        assert bank_sync(parsed_bank).new_rubrics == 0
    assert RubricVersion.objects.count() == n_questions
    for question in parsed_bank.questions[:5]:
        row = Question.objects.select_related("rubric").get(pk=question.id)
        assert row.rubric is not None and row.rubric.body == question.rubric.to_dict()
        assert (row.prompt, row.strong, row.topic_id) == (
            question.prompt,
            question.strong_answer,
            question.topic,
        )


def test_a_changed_rubric_is_a_new_version(parsed_bank: Bank) -> None:
    bank_sync(parsed_bank)
    first = parsed_bank.questions[0]
    before = Question.objects.get(pk=first.id).rubric
    other = Rubric(first.rubric.points[:1], ())
    assert bank_sync(changed(parsed_bank, rubric=other, title="Another title")).new_rubrics == 1
    row = Question.objects.select_related("rubric").get(pk=first.id)
    assert row.title == "Another title"
    assert row.rubric is not None and row.rubric.hash == other.hash
    assert before is not None and RubricVersion.objects.filter(pk=before.pk).exists()
    assert bank_sync(parsed_bank).new_rubrics == 0
    row.refresh_from_db()
    assert row.rubric == before


def test_what_left_the_files_is_retired_and_comes_back(parsed_bank: Bank) -> None:
    bank_sync(parsed_bank)
    topic = parsed_bank.topics[0].id
    fewer = Bank(parsed_bank.topics[1:], tuple(item for item in parsed_bank.questions if item.topic != topic))
    gone = len(parsed_bank.questions) - len(fewer.questions)
    assert bank_sync(fewer).retired == gone
    assert Question.objects.filter(retired__isnull=False).count() == gone
    assert Topic.objects.get(pk=topic).retired is not None
    bank_sync(parsed_bank)
    assert not Question.objects.filter(retired__isnull=False).exists()
    assert Topic.objects.get(pk=topic).retired is None
