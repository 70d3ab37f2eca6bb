"""What trials say, against values computed elsewhere."""

from __future__ import annotations

import random

import pytest

from interview.playground.trials.checks import first_number, valid
from interview.playground.trials.statistics import (
    agreement,
    common_prefix,
    difference,
    distance,
    mean,
    noise,
    parting_points,
    parts_at,
    resampled,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe, Stat. Med. 17 (1998) 857, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_newcombes_table(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson(successes, trials)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        # Newcombe, Stat. Med. 17 (1998) 873, table II, method 10
        ((48, 80), (56, 70), 0.0524, 0.3339),
        ((3, 10), (9, 10), 0.1705, 0.8090),
        ((0, 10), (10, 10), 0.6075, 1.0),
    ],
)
def test_the_difference_gives_newcombes_table(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    found = difference(first, second)
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)


def test_agreement_is_the_chance_that_two_trials_agree() -> None:
    assert agreement(["a"] * 5) == 1 and agreement(list("abcde")) == 0
    assert agreement(["a", "a", "b"]) == pytest.approx(1 / 3)
    assert agreement(["a"]) == 1


def test_where_outputs_part() -> None:
    assert parts_at([[1, 2, 3], [1, 2, 3]]) is None
    assert parts_at([[1, 2, 3], [1, 2, 4], [1, 5]]) == 1
    assert parts_at([[1, 2], [1, 2, 3]]) == 2
    assert common_prefix([1, 2, 3], [1, 2]) == 2
    assert parting_points([[1, 2], [1, 3], [1, 2]]) == [1, 1]


def test_the_bootstrap_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [float(x) for x in (3, 5, 5, 8, 13, 21)]
    found = resampled(values, mean)
    assert found.low < found.value == mean(values) < found.high
    assert resampled(values, mean) == found
    assert resampled([4.0] * 6, mean) == type(found)(4.0, 4.0, 4.0)


def test_noise_is_told_from_change() -> None:
    dice = random.Random(3)
    same = [(dice.choices("aabc", k=20), dice.choices("aabc", k=20)) for _ in range(4)]
    moved = [(dice.choices("aaab", k=20), dice.choices("abbb", k=20)) for _ in range(4)]
    assert noise(same) > 0.05 > noise(moved)
    assert distance(["a", "b"], ["a", "b"]) == 0 and distance(["a"], ["b"]) == 1


def test_false_alarms_are_as_rare_as_promised() -> None:
    dice = random.Random(8)
    alarms = sum(
        noise([(dice.choices("aaabbc", k=8), dice.choices("aaabbc", k=8)) for _ in range(2)]) < 0.05
        for _ in range(60)
    )
    assert alarms <= 8


@pytest.mark.parametrize(
    ("rule", "wanted", "answer", "finish", "expected"),
    [
        ("none", "", "x", "stop", None),
        ("equals", "4", " 4\n", "stop", True),
        ("equals", "4", "4.", "stop", False),
        ("contains", "Paris", "It is paris.", "stop", True),
        ("json", "", '{"a": 1}', "stop", True),
        ("json", "", '{"a": 1}', "length", False),
        ("json", "", "[" * 100_000, "stop", False),
        ("number", "4", "2 + 2", "stop", False),
        ("number", "-3.5", "about -3.5 degrees", "stop", True),
        ("number", "4", "four", "stop", False),
        ("number", "4", "٤", "stop", False),
    ],
)
def test_an_answer_is_valid_by_a_rule(
    rule: str, wanted: str, answer: str, finish: str, expected: bool | None
) -> None:
    assert valid(rule, wanted, answer, finish) is expected


def test_the_first_number() -> None:
    assert first_number("v1.2.3") == 1.2 and first_number("1.") == 1 and first_number("") is None
