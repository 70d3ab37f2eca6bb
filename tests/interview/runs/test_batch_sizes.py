"""How many requests shared each step of a run: the picture and its table say what the engine counted."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from interview.accounts.models import User
from interview.runs import services
from interview.runs.batch_sizes import MOST_ROWS, batch_sizes
from tests.factories import make_run


def test_stretches_cover_every_step() -> None:
    found = batch_sizes({"stats": {"batch_sizes": [[1, 4], [3, 2], [2, 4]]}})
    assert found is not None
    assert [(one.first, one.last, one.size) for one in found.stretches] == [(1, 4, 1), (5, 6, 3), (7, 10, 2)]
    assert (found.steps, found.most, found.mean, found.more) == (10, 3, 1.8, 0)
    bars = [tuple(map(float, bar)) for bar in re.findall(r'rect class="bar" x="([\d.]+)%" y="[\d.]+" width="([\d.]+)%" height="([\d.]+)"', found.picture)]  # fmt: skip
    assert [(x, width) for x, width, _ in bars] == [(0, 40), (40, 20), (60, 40)]
    assert bars[1][2] == max(height for *_, height in bars) == pytest.approx(3 * bars[0][2])


def test_of_several_answers_the_longest_is_drawn() -> None:
    found = batch_sizes(
        {"stats": [{"batch_sizes": [[2, 3]]}, {"batch_sizes": [[2, 9]]}, {"batch_sizes": None}, None]}
    )
    assert found is not None and found.steps == 9


def test_a_long_list_is_cut_and_says_so() -> None:
    found = batch_sizes({"stats": {"batch_sizes": [[1 + n % 2, 1] for n in range(MOST_ROWS + 5)]}})
    assert found is not None and (len(found.stretches), found.more, found.steps) == (
        MOST_ROWS,
        5,
        MOST_ROWS + 5,
    )


@pytest.mark.parametrize("stats", [None, {}, [], {"batch_sizes": []}, [{"seed": 1}], {"remote": "http://x"}])
def test_a_run_that_says_nothing_of_its_batch_has_none(stats: Any) -> None:
    assert batch_sizes({"stats": stats}) is None


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("pairs", "said"),
    [([[1, 7]], "It ran alone"), ([[1, 4], [3, 2]], "Up to 3 requests shared its 6 steps")],
)
def test_the_trace_shows_it(owner: User, owner_client: Client, pairs: list[list[int]], said: str) -> None:
    run = services.run_claim(str(make_run(owner).pk), worker="host:1")
    assert run is not None
    services.run_succeed(run, {"text": ""}, {"stats": {"seed": 1, "batch_sizes": pairs}})
    page = owner_client.get(f"/runs/{run.pk}/trace/").content.decode()
    assert said in page and page.count('class="bar"') == len(pairs)
