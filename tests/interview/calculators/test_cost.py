"""The bill: two real invoices to the cent, tiers, and that each token is billed once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interview.calculators.formulas.cost_bill import CostInputs, counts_of, rates_of, total_of
from interview.calculators.formulas.prices import price_list
from interview.calculators.formulas.registry import CALCULATORS, Outcome, run

ROWS = json.loads((Path(__file__).parents[2] / "data" / "calculator_cases.json").read_text("utf-8"))
CASES = {row["id"]: row for row in ROWS}

# At noon, as the list is made: DeepSeek is cheaper by night.
AS_OF = datetime.fromisoformat(price_list().as_of).replace(hour=12, tzinfo=UTC)


def asked(**given_inputs: Any) -> Outcome:
    return run(CALCULATORS["cost"], {k: str(v) for k, v in given_inputs.items()})


def results(**given_inputs: Any) -> dict[str, Any]:
    outcome = asked(**given_inputs)
    assert outcome.result, outcome.errors
    return outcome.result.results


@pytest.mark.parametrize(
    ("case_id", "accounting", "wrong"),
    [
        ("bill-cache-write", "separate", "wrong_if_write_also_billed_as_input"),
        ("bill-cached-inclusive", "inclusive", "wrong_if_cached_billed_twice"),
    ],
)
def test_real_invoices(case_id: str, accounting: str, wrong: str) -> None:
    case = CASES[case_id]
    tokens = {k: v for k, v in case["input"].items() if k.endswith("_tokens")}
    prices = {f"{k}_usd": v for k, v in case["input"]["usd_per_million"].items()}
    got = results(accounting=accounting, **tokens, **prices)
    assert got["usd"] == pytest.approx(case["expected"]["usd"], abs=1e-9)
    assert got["usd_if_cached_tokens_are_billed_twice"] == pytest.approx(case["expected"][wrong], abs=1e-9)


def test_a_tier_prices_the_whole_request() -> None:
    base = {
        "input_usd": 2,
        "output_usd": 12,
        "tier_start": 200_000,
        "tier_input_usd": 4,
        "tier_output_usd": 18,
    }
    assert results(input_tokens=200_000, output_tokens=0, **base)["usd"] == pytest.approx(0.4)
    assert results(input_tokens=200_001, output_tokens=0, **base)["usd"] == pytest.approx(200_001 * 4 / 1e6)
    assert results(input_tokens=300_000, output_tokens=1000, **base)["usd"] == pytest.approx(1.2 + 0.018)


def test_batch_images_and_tools() -> None:
    base = {"input_tokens": 1000, "output_tokens": 0, "input_usd": 1, "output_usd": 1}
    assert results(batch_discount=0.5, **base)["usd"] == pytest.approx(0.0005)
    assert results(images=2, tokens_per_image=500, **base)["usd"] == pytest.approx(0.002)
    assert results(tool_calls=3, tool_usd=0.01, batch_discount=0.5, **base)["usd"] == pytest.approx(0.0305)


def test_cached_tokens_cannot_exceed_the_input_they_are_in() -> None:
    outcome = asked(accounting="inclusive", input_tokens=10, cache_read_tokens=11)
    assert [e.name for e in outcome.errors] == ["cache_read_tokens"]


def test_the_price_list_is_dated_and_sane() -> None:
    held = price_list()
    assert len(held.prices) > 100 and held.as_of >= "2026-01-01" and "genai-prices" in held.source
    for price in held.prices.values():
        assert 0 < price.input < 1000 and 0 < price.output < 1000, price
        assert price.accounting == ("separate" if price.id.startswith("anthropic/") else "inclusive")
        if price.tier:
            assert price.tier.start >= 1000 and price.tier.input > 0


def test_a_listed_model_is_billed_as_listed_and_says_the_date() -> None:
    name, price = next((n, p) for n, p in price_list().prices.items() if p.tier is None)
    outcome = asked(price_of=name, input_tokens=10**6, output_tokens=10**6)
    assert outcome.result
    assert outcome.result.results["usd"] == pytest.approx(price.input + price.output)
    assert price_list().as_of in outcome.result.warnings[0]
    changed = results(price_of=name, input_tokens=10**6, output_tokens=0, input_usd=7)
    assert changed["usd"] == pytest.approx(7)


@pytest.mark.parametrize(
    ("name", "tokens", "usd"),
    [
        ("openai/gpt-5.4-pro", (300_000, 100_000, 1000), 18.27),
        ("google/gemini-1.5-pro", (150_000, 50_000, 1000), 0.385),
        ("openai/gpt-5.4", (300_000, 100_000, 0), 1.05),
    ],
)
def test_cached_tokens_in_a_tier(name: str, tokens: tuple[int, int, int], usd: float) -> None:
    fresh, read, output = tokens
    got = results(price_of=name, input_tokens=fresh, cache_read_tokens=read, output_tokens=output)
    assert got["usd"] == pytest.approx(usd, abs=1e-9)


GRID = [
    (total, read, written, output)
    for total in (1000, 99_000, 150_000, 199_999, 200_000, 250_000, 300_000)
    for read, written in ((0, 0), (1, 0), (0, 1), (0.5, 0), (0, 0.5), (0.25, 0.25))
    for output in (0, 1000)
]


@pytest.mark.parametrize("name", list(price_list().prices))
def test_every_row_bills_as_genai_prices_does(name: str) -> None:
    from genai_prices import Usage
    from genai_prices.data_snapshot import get_snapshot

    provider, _, model = name.partition("/")
    held = next(p for p in get_snapshot().providers if p.id == provider)
    prices = next(m for m in held.models if m.id == model).get_prices(AS_OF)
    for total, read_share, write_share, output in GRID:
        read, written = int(total * read_share), int(total * write_share)
        usage = Usage(
            input_tokens=total, cache_read_tokens=read, cache_write_tokens=written, output_tokens=output
        )
        right = prices.calc_price(usage)["total_price"]
        counted = CostInputs(
            price_of=name,
            accounting="inclusive",
            input_tokens=total,
            cache_read_tokens=read,
            cache_write_tokens=written,
            output_tokens=output,
        )
        counts = counts_of(counted)
        assert total_of(counted, counts, rates_of(counted, counts)) == Fraction(right), (usage, right)


def test_typing_a_listed_price_changes_nothing() -> None:
    base = {
        "price_of": "anthropic/claude-3-5-sonnet",
        "input_tokens": 1000,
        "cache_read_tokens": 10**6,
        "output_tokens": 0,
    }
    assert results(**base)["usd"] == pytest.approx(0.303)
    assert results(input_usd=3, **base)["usd"] == pytest.approx(0.303)
    assert results(input_usd=4, **base)["usd"] == pytest.approx(0.304)


def test_own_prices_of_the_cache_in_a_tier() -> None:
    base = {
        "input_usd": 2,
        "output_usd": 12,
        "tier_start": 200_000,
        "tier_input_usd": 4,
        "input_tokens": 300_000,
        "cache_read_tokens": 100_000,
        "output_tokens": 0,
    }
    assert results(**base)["usd"] == pytest.approx(1.2)
    assert results(tier_cache_read_usd=0.4, **base)["usd"] == pytest.approx(0.84)


TOKENS = st.integers(0, 10**6)


@given(TOKENS, TOKENS, TOKENS, TOKENS, st.sampled_from(["inclusive", "separate"]))
def test_the_bill_grows_with_tokens_and_is_linear_in_requests(
    fresh: int, read: int, written: int, output: int, accounting: str
) -> None:
    total = fresh + read + written if accounting == "inclusive" else fresh
    base = {
        "accounting": accounting,
        "input_tokens": total,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "input_usd": 3,
        "cache_read_usd": 0.3,
        "cache_write_usd": 3.75,
        "output_usd": 15,
    }
    got = results(output_tokens=output, requests=1000, **base)
    assert got["usd"] == pytest.approx((3 * fresh + 0.3 * read + 3.75 * written + 15 * output) / 1e6)
    assert got["usd_per_month"] == pytest.approx(1000 * got["usd"])
    assert results(output_tokens=output + 1, **base)["usd"] > got["usd"]
    assert got["usd_if_cached_tokens_are_billed_twice"] >= got["usd"]
