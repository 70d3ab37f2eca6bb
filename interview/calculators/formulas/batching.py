"""Batching: one trace served four ways, with utilisation, waiting, tails, wasted cache, and a timeline."""

from __future__ import annotations

from dataclasses import dataclass, replace

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.lists import numbers
from interview.calculators.formulas.parameters import choice, real, refuse, text, whole
from interview.calculators.formulas.result import (
    Chart,
    Headline,
    Result,
    Series,
    Span,
    Table,
    Value,
    Working,
    program,
)
from interview.calculators.formulas.serving import Outcome, Request, Served, Server, serve, trace
from interview.calculators.formulas.units import number_text, seconds_text

SHOWN_SLOTS = 12
SHOWN_SPANS = 160
WAYS = (
    ("continuous", "paged"),
    ("continuous", "contiguous"),
    ("static", "paged"),
    ("static", "contiguous"),
)


@dataclass(frozen=True, slots=True)
class BatchingInputs:
    """A trace of requests and the server that takes them."""

    requests: int = whole(200, "Requests", high=10_000)
    rate: float = real(2.5, "Arrivals", unit="a second", low=1e-3, high=1e6)
    prompt: int = whole(400, "Prompt", unit="tokens on average", high=10**6)
    output: int = whole(150, "Answer", unit="tokens on average", high=10**5)
    spread: str = choice(
        "exponential", "Lengths", [("exponential", "vary"), ("fixed", "all alike")], segmented=True
    )
    batching: str = choice(
        "continuous", "Batching", [("continuous", "continuous"), ("static", "static")], segmented=True
    )
    cache: str = choice("paged", "Cache", [("paged", "paged"), ("contiguous", "contiguous")], segmented=True)
    slots: int = whole(16, "Slots", high=1024, group="Server", hint="sequences at once")
    step_ms: float = real(20.0, "A step takes", unit="ms", low=1e-3, high=1e6, group="Server")
    sequence_ms: float = real(0.3, "and a sequence adds", unit="ms", low=0.0, high=1e6, group="Server")
    prefill_rate: float = real(8000.0, "Prompt reading", unit="tokens/s", low=1.0, high=1e9, group="Server")
    cache_tokens: int = whole(40_000, "Cache", unit="tokens", high=10**9, group="Server")
    longest: int = whole(
        4096,
        "Longest request",
        unit="tokens",
        high=10**7,
        group="Server",
        hint="what a contiguous cache sets aside",
    )
    block: int = whole(16, "Block", unit="tokens", high=10**5, group="Server")
    seed: int = whole(0, "Seed", low=0, high=2**31, group="Trace")
    trace: str = text(
        "",
        "Own trace",
        longest=8000,
        rows=5,
        group="Trace",
        hint="arrival in seconds, prompt, answer; one request a line",
    )


def batching(inputs: BatchingInputs) -> Result:
    """The trace served as asked, and the other three ways beside it. Raises InputErrors for an unreadable trace."""
    requests = _requests(inputs)
    outcomes = {way: serve(requests, _server(inputs, way)) for way in WAYS}
    way = (inputs.batching, inputs.cache)
    chosen = outcomes[way]
    working = _working(chosen, inputs)
    results = _measures(chosen, inputs)
    return Result(
        headline=Headline(
            *seconds_text(float(results["p95_latency_seconds"])),
            second="p95 latency",
            exact=f"{number_text(float(results['tokens_per_second']), 4)} tokens/s, {number_text(100 * float(results['utilisation']), 3)}% of slots busy",
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(requests, inputs, results),
        charts=(_timeline(chosen, inputs), _latencies(outcomes)),
        tables=(_four(outcomes, inputs),),
        program=program("Batching: tokens a second", working, "tokens_per_second"),
    )


def _requests(inputs: BatchingInputs) -> list[Request]:
    if not inputs.trace.strip():
        return trace(inputs.requests, inputs.rate, inputs.prompt, inputs.output, inputs.spread, inputs.seed)
    rows = []
    for line in inputs.trace.split("\n"):
        if line.strip():
            cells = numbers("trace", line, most=3)
            if (
                len(cells) != 3
                or min(cells) < 0
                or min(cells[1:]) < 1
                or max(cells[1:]) > 10**6
                or cells[0] > 10**7
            ):
                raise refuse("trace", "each line is: arrival in seconds, prompt tokens, answer tokens")
            rows.append(Request(cells[0], int(cells[1]), int(cells[2])))
    return rows


def _server(inputs: BatchingInputs, way: tuple[str, str]) -> Server:
    return Server(
        inputs.slots,
        inputs.step_ms / 1e3,
        inputs.sequence_ms / 1e3,
        inputs.prefill_rate,
        inputs.cache_tokens,
        inputs.block,
        inputs.longest,
        continuous=way[0] == "continuous",
        paged=way[1] == "paged",
    )


def _at(ordered: list[float], share: float) -> float:
    """The value at this share of a sorted list (nearest rank)."""
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1))]


def _measures(outcome: Outcome, inputs: BatchingInputs) -> dict[str, Value]:
    waits = sorted(s.start - s.arrival for s in outcome.served)
    latencies = sorted(s.end - s.arrival for s in outcome.served)
    held = sum((s.end - s.start) * s.reserved for s in outcome.served)
    used = sum((s.end - s.start) * min(s.used, s.reserved) for s in outcome.served)
    tokens = sum(s.output for s in outcome.served)
    return {
        "tokens_per_second": tokens / outcome.makespan,
        "utilisation": tokens / (outcome.steps * inputs.slots),
        "makespan_seconds": outcome.makespan,
        "mean_wait_seconds": sum(waits) / len(waits),
        "p95_wait_seconds": _at(waits, 0.95),
        "p50_latency_seconds": _at(latencies, 0.5),
        "p95_latency_seconds": _at(latencies, 0.95),
        "p99_latency_seconds": _at(latencies, 0.99),
        "cache_wasted": 1 - used / held if held else 0.0,
        "steps": outcome.steps,
        "tokens": tokens,
    }


def _working(outcome: Outcome, inputs: BatchingInputs) -> Working:
    working = Working()
    tokens = sum(s.output for s in outcome.served)
    working.given(tokens=tokens, steps=outcome.steps, slots=inputs.slots, makespan=outcome.makespan)
    working.step(
        "utilisation",
        "Slots that made a token, of all slots in all steps",
        "tokens / (steps * slots)",
        "share",
    )
    working.step("tokens_per_second", "Tokens a second", "tokens / makespan", "tokens/s")
    waits = [s.start - s.arrival for s in outcome.served]
    working.given(sum_of_waits=sum(waits), requests=len(waits))
    working.step("mean_wait", "Mean wait before the prompt is read", "sum_of_waits / requests", "s")
    return working


def _warnings(requests: list[Request], inputs: BatchingInputs, results: dict[str, Value]) -> tuple[str, ...]:
    said = []
    span = max(r.arrival for r in requests)
    if span and float(results["makespan_seconds"]) > 1.5 * span:
        said.append("Requests come faster than they are served: the queue grows for as long as this goes on.")
    fitting = max(1, inputs.cache_tokens // inputs.longest)
    if fitting < inputs.slots:
        said.append(
            f"A contiguous cache sets aside {inputs.longest} tokens a request, so only {fitting} of {inputs.slots} slots can run."
        )
    if any(r.prompt + r.output > inputs.cache_tokens for r in requests):
        said.append("A request is larger than the whole cache; it runs alone here, a real server refuses it.")
    said.append(
        "The final length is known here when a request starts; a real server finds out, and preempts when it guessed wrong."
    )
    return tuple(said)


def _timeline(outcome: Outcome, inputs: BatchingInputs) -> Chart:
    shown = sorted((s for s in outcome.served if s.slot < SHOWN_SLOTS), key=lambda s: s.start)[:SHOWN_SPANS]
    lanes = tuple(f"slot {i + 1}" for i in range(min(inputs.slots, SHOWN_SLOTS)))
    spans = tuple(_span(s, i) for i, s in enumerate(shown))
    note = (
        f"The first {len(shown)} requests in {len(lanes)} slots." if len(shown) < len(outcome.served) else ""
    )
    return Chart("timeline", "Timeline", "seconds", "slot", spans=spans, lanes=lanes, note=note)


def _span(served: Served, number: int) -> Span:
    waited = served.start - served.arrival
    label = f"{served.output} tokens, waited {number_text(waited, 3)} s"
    return Span(served.slot, served.start, served.end, label, "now" if number % 2 else "bar")


def _latencies(outcomes: dict[tuple[str, str], Outcome]) -> Chart:
    """Share of requests done within a time, for the two ways of batching with a paged cache."""
    series = []
    for way in (WAYS[0], WAYS[2]):
        ordered = sorted(s.end - s.arrival for s in outcomes[way].served)
        points = tuple((100 * i / 40, _at(ordered, i / 40)) for i in range(1, 41))
        series.append(Series(way[0], points))
    return Chart("line", "Latency by share of requests", "% of requests", "latency", tuple(series), "s")


def _four(outcomes: dict[tuple[str, str], Outcome], inputs: BatchingInputs) -> Table:
    rows: list[tuple[Value, ...]] = []
    for way in WAYS:
        found = _measures(outcomes[way], replace(inputs, batching=way[0], cache=way[1]))
        names = (
            "tokens_per_second",
            "mean_wait_seconds",
            "p50_latency_seconds",
            "p95_latency_seconds",
            "p99_latency_seconds",
        )
        shares = (100 * float(found["utilisation"]), 100 * float(found["cache_wasted"]))
        rows.append(
            (
                f"{way[0]}, {way[1]}",
                *(round(float(found[n]), 3) for n in names),
                *(round(s, 2) for s in shares),
            )
        )
    columns = (
        "way",
        "tokens/s",
        "mean wait (s)",
        "p50 (s)",
        "p95 (s)",
        "p99 (s)",
        "slots busy (%)",
        "cache wasted (%)",
    )
    return Table("The same trace four ways", columns, tuple(rows))


CALCULATOR = Calculator(
    slug="batching",
    title="Batching",
    summary="One trace of requests under static and continuous batching, paged and contiguous caches.",
    inputs=BatchingInputs,
    compute=batching,
    formula="tokens / (steps * slots)",
    formula_name="utilisation",
    meaning=(
        "Static batching waits for its longest answer while finished slots stand empty, and newcomers wait for the next "
        "batch. Continuous batching fills a slot the moment it is free. Paging gives out cache in small blocks, so more "
        "requests fit at once; both show first in the tail, not in the mean."
    ),
    usual_mistake=(
        "Quoting throughput alone. A fuller batch makes more tokens a second and each user wait longer, and a prompt "
        "read in between stalls everybody: the promise to check is the 95th or 99th percentile."
    ),
    sources=("Continuous batching: Orca, OSDI 2022", "Paged attention: vLLM, arXiv 2309.06180"),
    presets=(
        Preset("static beside continuous", "batching=static"),
        Preset("a contiguous cache", "cache=contiguous"),
        Preset("more than it can serve", "rate=20"),
        Preset("everybody alike", "spread=fixed&batching=static"),
    ),
)
