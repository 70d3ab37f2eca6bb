"""A load as the page shows it: percentiles, throughput, batch and cache over time, beside what the calculators predict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interview.calculators.formulas.registry import find, run
from interview.calculators.formulas.result import Chart, Series
from interview.calculators.svg import svg
from interview.runs.models import Run


@dataclass(frozen=True)
class Spread:
    """Percentiles of times in milliseconds."""

    name: str
    p50: float | None
    p95: float | None
    p99: float | None
    most: float | None


@dataclass(frozen=True)
class Against:
    """A measured figure beside a predicted one."""

    name: str
    measured: float
    predicted: float
    unit: str
    url: str
    calculator: str

    @property
    def off(self) -> float:
        """By how much the prediction is off, as a share of what was measured."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True)
class Report:
    """Everything the page says of a load."""

    throughput: float
    answers: int
    cancelled: int
    spreads: list[Spread]
    batch_mean: float
    batch_most: int
    kv_most: int
    prefix_share: float
    prefix_tokens: int
    prompt_tokens: int
    proposed: int
    accepted: int
    alone_step_ms: float | None
    predictions: list[Against]
    batch_picture: str
    kv_picture: str
    moments: list[dict[str, Any]]


def at(values: list[float], share: float) -> float | None:
    """The value at this share of a list, by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))] if ordered else None


def spread(name: str, values: list[float]) -> Spread:
    """Percentiles of a list of times."""
    return Spread(name, at(values, 0.5), at(values, 0.95), at(values, 0.99), max(values, default=None))


def shown(run: Run, given: Mapping[str, str], address: str) -> tuple[str, dict[str, Any]]:
    """The part of the page that whoever has the link reads."""
    return "playground/_report.html", seen(run)


def seen(run: Run | None) -> dict[str, Any]:
    """The report of a run in which something was served; nothing without one."""
    if run is None or not run.output or not run.output.get("load", {}).get("served"):
        return {}
    return {"report": report(run.input, run.output)}


def report(body: dict[str, Any], output: dict[str, Any]) -> Report:
    """Read a stored load."""
    load, moments = output["load"], output["load"]["moments"]
    whole = [one for one in load["served"] if one["finish"] in ("length", "stop")]
    tokens = sum(one["tokens"] for one in load["served"])
    prompt = sum(one["prompt_tokens"] for one in load["served"])
    cached = sum(one["cached_tokens"] for one in load["served"])
    busy = [m["running"] for m in moments if m["running"]]
    return Report(
        throughput=tokens / load["seconds"] if load["seconds"] else 0.0,
        answers=len(whole),
        cancelled=len(load["served"]) - len(whole),
        spreads=[
            spread("time to first token", [one["ttft_ms"] for one in whole if one["ttft_ms"] is not None]),
            spread("between tokens", [gap for one in whole for gap in one["gaps_ms"]]),
            spread("whole answer", [one["total_ms"] for one in whole]),
            spread("of it waiting for a place", [one["queue_ms"] for one in whole]),
        ],
        batch_mean=sum(busy) / len(busy) if busy else 0.0,
        batch_most=max(busy, default=0),
        kv_most=max((m["kv_bytes"] for m in moments), default=0),
        prefix_share=cached / prompt if prompt else 0.0,
        prefix_tokens=cached,
        prompt_tokens=prompt,
        proposed=sum(one["proposed"] for one in load["served"]),
        accepted=sum(one["accepted"] for one in load["served"]),
        alone_step_ms=step_ms(output["alone"]),
        predictions=predictions(body, output, whole),
        batch_picture=_picture(moments, "running", "Requests in the batch", 1),
        kv_picture=_picture(moments, "kv_bytes", "KV cache reserved", 2, "bytes"),
        moments=moments[:: max(1, len(moments) // 40)],
    )


def step_ms(part: dict[str, Any]) -> float | None:
    """The median time between tokens of a calibration."""
    return at([gap for one in part["served"] for gap in one["gaps_ms"]], 0.5)


def predictions(body: dict[str, Any], output: dict[str, Any], whole: list[dict[str, Any]]) -> list[Against]:
    """What the latency and the batching calculator say from the calibration alone, beside what the load gave."""
    alone = output["alone"]["served"]
    one, two = step_ms(output["alone"]), step_ms(output["pair"])
    if not whole or not alone or not one or not two or not alone[0]["ttft_ms"]:
        return []
    return [*_latency(alone[0], one), *_batching(body, output, whole, alone[0], one, two)]


def _latency(alone: dict[str, Any], step: float) -> list[Against]:
    given = {
        "model": "HuggingFaceTB/SmolLM2-135M",
        "prompt": alone["prompt_tokens"],
        "output": alone["tokens"],
        "ttft_ms": f"{alone['ttft_ms']:.2f}",
        "per_token_ms": f"{step:.3f}",
    }
    outcome = run(find("latency"), given)
    if outcome.result is None:
        return []
    url = f"/calculators/latency/?{outcome.query}"
    seconds = float(outcome.result.results["seconds"])
    return [Against("one request alone", alone["total_ms"] / 1e3, seconds, "s", url, "latency")]


def _batching(
    body: dict[str, Any],
    output: dict[str, Any],
    whole: list[dict[str, Any]],
    alone: dict[str, Any],
    one: float,
    two: float,
) -> list[Against]:
    each = max(0.0, two - one)
    rows = "\n".join(f"0 {r['prompt_tokens'] - r['cached_tokens'] or 1} {r['tokens']}" for r in whole)
    longest = max(r["prompt_tokens"] + r["tokens"] for r in whole)
    given = {
        "trace": rows,
        "slots": min(body["concurrency"], body["requests"]),
        "step_ms": f"{max(one - each, 0.001):.3f}",
        "sequence_ms": f"{each:.3f}",
        "prefill_rate": f"{alone['prompt_tokens'] / (alone['ttft_ms'] / 1e3):.1f}",
        "cache_tokens": output["kv_bytes_limit"] // output["kv_bytes_per_token"],
        "longest": longest,
    }
    outcome = run(find("batching"), given)
    if outcome.result is None:
        return []
    url, found = f"/calculators/batching/?{outcome.query}", outcome.result.results
    seconds = output["load"]["seconds"]
    tokens = sum(r["tokens"] for r in whole)
    pairs = [
        ("throughput", tokens / seconds, found["tokens_per_second"], "tokens/s"),
        ("the whole load", seconds, found["makespan_seconds"], "s"),
    ]
    return [Against(name, real, float(said), unit, url, "batching") for name, real, said, unit in pairs]


def _picture(moments: list[dict[str, Any]], key: str, title: str, number: int, unit: str = "") -> str:
    if len(moments) < 2:
        return ""
    points = tuple((round(m["at_ms"] / 1000, 1), float(m[key])) for m in moments)
    return svg(Chart("line", title, "seconds", title, (Series(title, points),), unit), number)
