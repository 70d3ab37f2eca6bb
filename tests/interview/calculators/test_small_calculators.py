"""Context budget, loss and speculative decoding: worked values and what must always hold."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interview.calculators.formulas.registry import CALCULATORS, Outcome, run

ROWS = json.loads((Path(__file__).parents[2] / "data" / "calculator_cases.json").read_text("utf-8"))
CASES = {row["id"]: row for row in ROWS}
EIGHT_THOUSAND = {
    "window": 8000,
    "system": 600,
    "tools": 0,
    "reserved_output": 0,
    "safety_fraction": 0,
    "chunks": 6,
    "tokens_per_chunk": 500,
    "history": 2400,
    "message": 0,
    "turn_user": 300,
    "turn_assistant": 500,
}


def asked(slug: str, **given_inputs: Any) -> Outcome:
    return run(CALCULATORS[slug], {k: str(v) for k, v in given_inputs.items()})


def results(slug: str, **given_inputs: Any) -> dict[str, Any]:
    outcome = asked(slug, **given_inputs)
    assert outcome.result, outcome.errors
    return outcome.result.results


def test_budget_of_128k() -> None:
    case = CASES["budget-turns"]["expected"]
    got = results("context-budget")
    assert {name: got[name] for name in case} == case


def test_budget_of_8000_and_the_third_turn() -> None:
    outcome = asked("context-budget", **EIGHT_THOUSAND)
    assert outcome.result
    got = outcome.result.results
    assert got["tokens_left"] == 2000 and got["words_left"] == 1500
    assert got["turns_that_fit"] == 2 and got["left_over"] == 400
    assert got["first_turn_that_does_not_fit"] == 3
    turns = {row[0]: row[3] for row in outcome.result.every_table()[-1].rows}
    assert turns[2] == "fits" and str(turns[3]).startswith("does not fit")


def test_a_negative_budget_is_clamped_and_explained() -> None:
    outcome = asked("context-budget", window=4096, system=900, tools=2000, reserved_output=2048, history=100)
    assert outcome.result
    assert outcome.result.results["tokens_left"] == 0 and outcome.result.results["turns_that_fit"] == 0
    assert int(outcome.result.results["tokens_over"]) > 0
    assert "negative budget" in outcome.result.warnings[0]


def test_a_message_that_does_not_fit_is_counted_and_history_named_only_where_there_is_some() -> None:
    base = {"window": 4096, "system": 500, "tools": 0, "reserved_output": 1024, "chunks": 0}
    outcome = asked("context-budget", message=5000, **base)
    assert outcome.result
    got = outcome.result.results
    assert got["tokens_over"] == 2633 and got["tokens_left"] == 0
    assert outcome.result.headline.value == "0" and outcome.result.headline.exact.startswith("2\u202f633")
    assert "history" not in outcome.result.warnings[0] and "shorten the message" in outcome.result.warnings[0]
    longer = asked("context-budget", message=2000, history=1000, **base)
    assert longer.result and longer.result.results["tokens_over"] == 633
    assert "trim or summarise history" in longer.result.warnings[0]
    assert results("context-budget", message=2367, **base)["tokens_over"] == 0


def test_what_must_be_in_the_window_includes_the_message() -> None:
    outcome = asked("context-budget", window=4000, system=3000, tools=2000)
    assert outcome.result and outcome.result.results["tokens_over"] == 9742
    assert "9\u202f742 tokens more" in outcome.result.warnings[0]


def test_passages_go_in_by_relevance() -> None:
    outcome = asked(
        "context-budget",
        window=3000,
        system=100,
        tools=0,
        reserved_output=500,
        safety_fraction=0,
        message=100,
        relevance="low 0.2:1500\nhigh 0.9:1500\nmid 0.5:700",
    )
    assert outcome.result
    verdicts = {row[0]: row[3] for row in outcome.result.every_table()[-2].rows}
    assert verdicts == {"high": "kept", "mid": "kept", "low": "left out"}
    assert outcome.result.results["chunk_tokens"] == 2200


@pytest.mark.parametrize("bad", ["x", "a b:c", "a 0.5", "a 0.5:-1", "a nan:5", ":", "a 0.5:٣"])
def test_unreadable_relevance_is_named(bad: str) -> None:
    assert [e.name for e in asked("context-budget", relevance=bad).errors] == ["relevance"]


TOKENS = st.integers(0, 10**5)


@given(TOKENS, TOKENS, TOKENS, TOKENS, st.sampled_from(["trim", "summarise"]), st.integers(1, 10**5))
def test_budgets_never_go_negative_and_more_window_never_fits_less(
    system: int, output: int, history: int, message: int, policy: str, window: int
) -> None:
    base = {
        "system": system,
        "reserved_output": output,
        "history": history,
        "message": message,
        "policy": policy,
    }
    small, large = (
        results("context-budget", window=window, **base),
        results("context-budget", window=2 * window, **base),
    )
    assert all(v >= 0 for v in small.values())
    assert large["turns_that_fit"] >= small["turns_that_fit"]


@pytest.mark.parametrize(("p", "nll"), [(0.5, 0.69), (0.01, 4.61)])
def test_loss_worth_knowing(p: float, nll: float) -> None:
    got = results("loss", values=p)
    assert round(got["nll"], 2) == nll and got["perplexity"] == pytest.approx(1 / p)


def test_predictions_under_a_causal_mask() -> None:
    assert results("loss", tokens=1000)["predictions"] == 999
    assert results("loss", tokens=1000, documents=4)["predictions"] == 996
    assert asked("loss", tokens=3, documents=4).errors[0].name == "documents"


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=40))
def test_every_reading_gives_the_same_loss(probabilities: list[float]) -> None:
    direct = results("loss", values=", ".join(map(repr, probabilities)))
    mean = sum(-math.log(p) for p in probabilities) / len(probabilities)
    assert direct["nll"] == pytest.approx(mean)
    for kind, value in (("nll", mean), ("bits", mean / math.log(2)), ("perplexity", math.exp(mean))):
        assert results("loss", values=repr(abs(value)), given_as=kind)["nll"] == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("bad", ["0", "1.1", "-0.5", "", "x", "nan", "0.5 " * 300])
def test_values_that_are_no_probability(bad: str) -> None:
    assert [e.name for e in asked("loss", values=bad).errors] == ["values"]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1e-320", "probability"),
        ("700.5", "nll"),
        ("1010", "bits"),
        ("1.7e308", "perplexity"),
        ("0.5, 5e-324", "probability"),
    ],
)
def test_a_loss_whose_perplexity_overflows_is_named(value: str, kind: str) -> None:
    outcome = asked("loss", values=value, given_as=kind)
    assert [e.name for e in outcome.errors] == ["values"] and "700 nats" in outcome.errors[0].message


def test_the_largest_loss_still_has_its_perplexity() -> None:
    assert results("loss", values="700", given_as="nll")["perplexity"] == pytest.approx(math.exp(700))


def test_speculative_expectation() -> None:
    got = results("speculative", acceptance=0.8, draft=5, cost_ratio=0.05)
    assert got["tokens_per_target_pass"] == pytest.approx(3.68928)
    assert got["speed_up"] == pytest.approx(3.68928 / 1.25)
    assert results("speculative", acceptance=1, draft=5)["tokens_per_target_pass"] == 6
    assert results("speculative", acceptance=0, draft=5, cost_ratio=0.1)["speed_up"] == pytest.approx(1 / 1.5)


def test_checking_past_the_critical_batch_costs() -> None:
    got = results("speculative", batch=1000, draft=8)
    # 9000 tokens a pass against 1000 in a plain step, both past 300: nine plain steps, and 0.4 for the drafts.
    assert got["speed_up"] == pytest.approx((1 - 0.8**9) / 0.2 / 9.4)
    assert got["best_draft_length"] == 0 and got["best_speed_up"] == 1
    half = results("speculative", batch=100, draft=5)
    assert half["speed_up"] == pytest.approx(3.68928 / (0.25 + 2))
    assert half["best_draft_length"] == 2


def test_speculative_expectation_is_what_happens_when_it_is_played() -> None:
    dice = random.Random(4)
    rounds, tokens = 40_000, 0
    for _ in range(rounds):
        tokens += 1
        for _ in range(5):
            if dice.random() >= 0.8:
                break
            tokens += 1
    got = results("speculative", acceptance=0.8, draft=5)["tokens_per_target_pass"]
    assert tokens / rounds == pytest.approx(got, rel=0.01)


@given(st.floats(0, 1), st.integers(0, 64), st.floats(0, 2))
def test_the_best_draft_is_the_best(acceptance: float, draft: int, cost: float) -> None:
    got = results("speculative", acceptance=acceptance, draft=draft, cost_ratio=cost)
    assert 1 <= got["tokens_per_target_pass"] <= draft + 1
    assert got["best_speed_up"] >= got["speed_up"] - 1e-9
    assert got["best_speed_up"] >= 1 - 1e-9
