"""Latency, batching and model choice: worked values, a step-by-step reference, and what must always hold."""

from __future__ import annotations

import random
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interview.calculators.formulas.registry import CALCULATORS, Outcome, run
from interview.calculators.formulas.serving import Request, Server, serve, trace


def asked(slug: str, **given_inputs: Any) -> Outcome:
    return run(CALCULATORS[slug], {k: str(v) for k, v in given_inputs.items()})


def results(slug: str, **given_inputs: Any) -> dict[str, Any]:
    outcome = asked(slug, **given_inputs)
    assert outcome.result, outcome.errors
    return outcome.result.results


def test_500_tokens_at_20_to_50_ms() -> None:
    got = results("latency", output=500, ttft_ms=300, per_token_ms=20, slow_token_ms=50)
    assert got["decode_seconds"] == pytest.approx(10) and got["slow_decode_seconds"] == pytest.approx(25)
    # The first of the 500 tokens is there at 0.3 s: 499 steps follow.
    assert got["seconds"] == pytest.approx(0.3 + 499 * 0.02)


def test_the_only_token_is_there_at_the_first_token_time() -> None:
    outcome = asked("latency", output=1, ttft_ms=300, per_token_ms=20)
    assert outcome.result
    assert outcome.result.results["seconds"] == pytest.approx(0.3)
    assert outcome.result.results["tokens_per_second"] == pytest.approx(1 / 0.3)
    assert "(output - 1) * seconds_per_token" in outcome.result.program


def test_the_roofline_by_hand() -> None:
    got = results(
        "latency",
        model="meta-llama/Llama-2-7b-hf",
        prompt=1,
        output=1,
        gpus=1,
        accelerator="own",
        tflops=100,
        bandwidth=1000,
        compute_efficiency=1,
        bandwidth_efficiency=1,
    )
    # All weights but the looked-up embedding, and one cached token of 524288 bytes, at 1 TB/s.
    assert got["seconds_per_token"] == pytest.approx((2 * (6_738_415_616 - 131_072_000) + 524_288) / 1e12)
    assert got["decode_is_memory_bound"] == 1


@given(st.integers(1, 256), st.integers(1, 20_000), st.sampled_from(["h100", "l4", "mi300x"]))
def test_more_work_never_takes_less_time(batch: int, prompt: int, machine: str) -> None:
    one = results("latency", batch=batch, prompt=prompt, accelerator=machine)
    assert (
        results("latency", batch=batch + 1, prompt=prompt, accelerator=machine)["seconds"] >= one["seconds"]
    )
    assert (
        results("latency", batch=batch, prompt=prompt + 50, accelerator=machine)["ttft_seconds"]
        >= one["ttft_seconds"]
    )
    assert (
        results("latency", batch=batch, prompt=prompt, accelerator=machine, dtype="q4_0")["seconds"]
        <= one["seconds"]
    )


def test_a_batch_meets_more_experts() -> None:
    one = results("latency", model="mistralai/Mixtral-8x7B-v0.1", batch=1)
    many = results("latency", model="mistralai/Mixtral-8x7B-v0.1", batch=64)
    assert one["seconds_per_token"] < 0.4 * many["seconds_per_token"]


def test_an_own_machine_needs_its_numbers() -> None:
    assert [e.name for e in asked("latency", accelerator="own").errors] == ["tflops", "bandwidth"]


def slow_reference(requests: list[Request], server: Server) -> list[tuple[float, float]]:
    """The same server, one decode step at a time."""
    waiting = sorted(requests, key=lambda r: r.arrival)
    running: list[tuple[Request, float, int]] = []
    done: list[tuple[float, float]] = []
    now = 0.0
    while waiting or running:
        if server.continuous or not running:
            while waiting and waiting[0].arrival <= now and len(running) < server.slots:
                held = sum(server.reserved(r) for r, _, _ in running)
                if running and held + server.reserved(waiting[0]) > server.cache:
                    break
                request = waiting.pop(0)
                running.append((request, now, request.output))
                now += request.prompt / server.prefill_rate
        if not running:
            now = max(now, waiting[0].arrival)
            continue
        now += server.step(len(running))
        running = [(r, s, left - 1) for r, s, left in running]
        done += [(s, now) for r, s, left in running if left == 0]
        running = [entry for entry in running if entry[2] > 0]
    return sorted(done)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 300), st.integers(1, 30)), min_size=1, max_size=25),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.integers(200, 3000),
)
def test_jumping_between_events_gives_what_stepping_gives(
    rows: list[tuple[int, int, int]], slots: int, continuous: bool, paged: bool, cache: int
) -> None:
    # No arrival falls on the very end of a step: there the last bit of a sum would decide who is first.
    requests = [Request((a + 0.0137) / 10.0031, p, o) for a, p, o in rows]
    server = Server(slots, 0.05, 0.001, 5000.0, cache, 16, 400, continuous, paged)
    fast = sorted((s.start, s.end) for s in serve(requests, server).served)
    slow = slow_reference(requests, server)
    assert len(fast) == len(requests)
    for (start, end), (slow_start, slow_end) in zip(fast, slow, strict=True):
        assert start == pytest.approx(slow_start, abs=1e-6) and end == pytest.approx(slow_end, abs=1e-6)


@given(st.integers(0, 1000), st.integers(1, 16))
def test_no_slot_serves_two_requests_at_once(seed: int, slots: int) -> None:
    requests = trace(60, 5.0, 200, 40, "exponential", seed)
    outcome = serve(requests, Server(slots, 0.02, 0.0, 8000.0, 10**6, 16, 4096))
    for slot in range(slots):
        spans = sorted((s.start, s.end) for s in outcome.served if s.slot == slot)
        assert all(a[1] <= b[0] + 1e-9 for a, b in pairwise(spans))
    assert outcome.busy_slots == sum(r.output for r in requests)


def test_continuous_beats_static_and_paging_wastes_less() -> None:
    outcome = asked("batching", requests=500, rate=4)
    assert outcome.result
    rows = {str(row[0]): row for row in outcome.result.every_table()[0].rows}
    assert rows["continuous, paged"][4] < rows["static, paged"][4]  # type: ignore[operator]  # numbers in this column
    assert rows["continuous, paged"][7] < 5 < 50 < rows["continuous, contiguous"][7]  # type: ignore[operator]  # numbers


def test_ten_thousand_requests_take_half_a_second() -> None:
    started = time.process_time()
    results("batching", requests=10_000, rate=50)
    assert time.process_time() - started < 1.5  # the aim is 0.5 s; three times that on a busy machine


def test_an_own_trace_is_served_and_a_bad_one_named() -> None:
    got = results(
        "batching", trace="0, 100, 10\n0.5, 100, 20", slots=1, step_ms=100, sequence_ms=0, prefill_rate=1000
    )
    assert got["tokens"] == 30 and got["makespan_seconds"] == pytest.approx(0.1 + 1.0 + 0.1 + 2.0)
    for bad in ("0, 100", "x", "0, 0, 1", "-1, 1, 1", "0, 1, 1, 1"):
        assert asked("batching", trace=bad).errors[0].name == "trace"


def test_cost_per_success_by_hand() -> None:
    base = {
        "models": "small, 1, 1, 80",
        "input_tokens": 500_000,
        "output_tokens": 500_000,
        "failure_cost": 10,
    }
    none = results("selection", retries=0, **base)
    assert none["usd_per_success"] == pytest.approx((1 + 0.2 * 10) / 0.8)
    once = results("selection", retries=1, **base)
    assert once["usd_per_success"] == pytest.approx((1.2 + 0.04 * 10) / 0.96)


def test_routing_is_what_happens_when_it_is_played() -> None:
    got = results(
        "selection",
        models="s, 1, 0, 70\nl, 10, 0, 95",
        input_tokens=10**6,
        output_tokens=0,
        retries=0,
        failure_cost=20,
    )
    dice, spent, tasks = random.Random(3), 0.0, 60_000
    won = 0
    for _ in range(tasks):
        spent += 1
        ok = dice.random() < 0.7
        if not ok:
            spent += 10
            ok = dice.random() < 0.95
        won += ok
        spent += 0 if ok else 20
    assert got["usd_per_success[s, then l]"] == pytest.approx(spent / won, rel=0.02)


@given(st.floats(0.01, 100), st.integers(0, 10), st.floats(0, 5), st.floats(0, 1))
def test_better_models_never_cost_more_per_success(
    success: float, retries: int, failure: float, caught: float
) -> None:
    base = {"retries": retries, "failure_cost": failure, "caught": caught}
    worse = results("selection", models=f"m, 1, 2, {success}", **base)
    better = results("selection", models=f"m, 1, 2, {min(100.0, success + 1)}", **base)
    assert better["usd_per_success"] <= worse["usd_per_success"] * (1 + 1e-9)
    assert 0 <= worse["success_rate"] <= 1


def test_the_break_even_is_where_both_cost_the_same() -> None:
    base = {"input_tokens": 2000, "output_tokens": 400, "retries": 1, "failure_cost": 0.05}
    got = results("selection", models="small, 0.15, 0.6, 80\nlarge, 2.5, 10, 97", **base)
    at = 100 * got["break_even_success_of_the_cheaper"]
    even = results("selection", models=f"small, 0.15, 0.6, {at!r}", **base)
    assert even["usd_per_success"] == pytest.approx(got["usd_per_success[large]"], rel=1e-6)


@pytest.mark.parametrize(
    "bad",
    ["", "x", "a, 1, 2", "a, 1, 2, 101", "a, -1, 2, 50", "a, 1, 2, 0", "a,1,2,9\na,1,2,9", "a, 1, 2, nan"],
)
def test_unreadable_model_lists_are_named(bad: str) -> None:
    assert [e.name for e in asked("selection", models=bad).errors] == ["models"]
