"""The assessor's quality page says what the committed evaluation says, misses included."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from interview.practice.quality import COLUMNS, TARGETS, result

ADDRESS = "/practice/quality/"


@pytest.mark.django_db
def test_anybody_reads_the_figures(client: Client, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(0):
        answer = client.get(ADDRESS)
    assert answer.status_code == 200
    page = answer.content.decode()
    for name in TARGETS:
        assert f"{result()['sets'][name]['macro_f1_2way']:.3f}" in page
    assert str(result()["command"]) in page
    assert client.post(ADDRESS).status_code == 405


def test_the_tables_add_up_to_the_figures() -> None:
    for name, row in result()["sets"].items():
        assert sum(sum(cells.values()) for cells in row["confusion"].values()) == row["answers"], name
        wrong = row["confusion"].get("contradictory")
        if wrong:
            assert row["contradictory_accepted"] == pytest.approx(
                wrong["correct"] / sum(wrong.values()), abs=1e-4
            )
        right = row["confusion"]["correct"]
        hits, gold = right["correct"], sum(right.values())
        found = sum(cells["correct"] for cells in row["confusion"].values())
        rest = row["answers"] - found - gold + hits
        f1 = (2 * hits / (gold + found) + 2 * rest / (2 * row["answers"] - gold - found)) / 2
        assert row["macro_f1_2way"] == pytest.approx(f1, abs=1e-4)


def test_copies_are_never_accepted() -> None:
    made = result()["made"]
    assert made["question_copied"]["accepted"] == made["question_three_times"]["accepted"] == 0
    assert {column for kind in result()["bank"]["verdicts"].values() for column in kind} <= set(COLUMNS)
