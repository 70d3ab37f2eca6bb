"""Latency shown: first token, time a token and in all, what binds each phase, and the same request elsewhere."""

from __future__ import annotations

from dataclasses import replace

from interview.calculators.formulas.accelerators import ACCELERATORS
from interview.calculators.formulas.attention_flops import step_flops
from interview.calculators.formulas.latency_roofline import (
    LatencyInputs,
    Machine,
    Phases,
    cache_bytes,
    machine_of,
    phases_of,
    reached,
    read_parameters,
)
from interview.calculators.formulas.models import Geometry, models
from interview.calculators.formulas.parameter_count import weight_bytes
from interview.calculators.formulas.result import (
    Chart,
    Headline,
    Result,
    Series,
    Table,
    Value,
    Working,
    program,
)
from interview.calculators.formulas.units import both_bytes, number_text, seconds_text
from interview.calculators.formulas.weights import parts

TOTAL = "ttft_seconds + (output - 1) * seconds_per_token"


def latency(inputs: LatencyInputs) -> Result:
    """Time to first token, per token and in all. Raises InputErrors for an own machine without its numbers."""
    geometry, machine = models()[inputs.model], machine_of(inputs)
    phases = phases_of(geometry, machine, inputs)
    working = _working(geometry, machine, inputs, phases)
    results = _results(geometry, machine, inputs, phases, working)
    total, per_token = float(results["seconds"]), float(results["seconds_per_token"])
    return Result(
        headline=Headline(
            *seconds_text(total),
            second=f"first token {' '.join(seconds_text(float(results['ttft_seconds'])))}",
            exact=f"{' '.join(seconds_text(per_token))} a token, {number_text(float(results['tokens_per_second']), 4)} tokens/s in all",
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(machine, inputs, phases, results),
        charts=(_by_batch(geometry, machine, inputs, results), _bounds(phases)),
        tables=(_rests_on(results), _machines(geometry, inputs)),
        program=program(f"Latency: {geometry.name}", working, "seconds"),
    )


def _working(model: Geometry, machine: Machine, inputs: LatencyInputs, phases: Phases) -> Working:
    working = Working()
    working.given(
        prefill_flops=round(phases.prefill_compute * machine.flops),
        flops_reached=machine.flops,
        bytes_reached=machine.bandwidth,
    )
    working.given(prefill_bytes=round(phases.prefill_memory * machine.bandwidth))
    if inputs.ttft_ms is None:
        working.step(
            "ttft_seconds",
            "First token: compute or reading the weights",
            "max(prefill_flops / flops_reached, prefill_bytes / bytes_reached)",
            "s",
        )
    else:
        working.given(ttft_ms=inputs.ttft_ms)
        working.step("ttft_seconds", "First token, as measured", "ttft_ms / 1000", "s")
    if inputs.per_token_ms is None:
        working.given(
            weight_bytes=phases.weights,
            cache_bytes=phases.cache,
            step_flops=round(phases.step_compute * machine.flops),
        )
        working.step(
            "memory_seconds",
            "A step reads weights and cache",
            "(weight_bytes + cache_bytes) / bytes_reached",
            "s",
        )
        working.step("compute_seconds", "A step computes", "step_flops / flops_reached", "s")
        working.step(
            "seconds_per_token",
            "A token takes the longer of the two",
            "max(memory_seconds, compute_seconds)",
            "s",
        )
    else:
        working.given(per_token_ms=inputs.per_token_ms)
        working.step("seconds_per_token", "A token, as measured", "per_token_ms / 1000", "s")
    working.given(output=inputs.output)
    working.step("seconds", "In all: the first token, then a step for each other", TOTAL, "s")
    working.step("decode_seconds", "Rule of thumb: every token a step", "output * seconds_per_token", "s")
    return working


def _results(
    model: Geometry, machine: Machine, inputs: LatencyInputs, phases: Phases, working: Working
) -> dict[str, Value]:
    names = working.names
    total = float(names["seconds"])
    compute = sum(step_flops(model, inputs.prompt)) / machine.flops
    reading = weight_bytes(read_parameters(model, inputs.batch), inputs.dtype) / machine.bandwidth
    results: dict[str, Value] = {
        "seconds": total,
        "ttft_seconds": float(names["ttft_seconds"]),
        "seconds_per_token": float(names["seconds_per_token"]),
        "decode_seconds": float(names["decode_seconds"]),
        "tokens_per_second": inputs.batch * inputs.output / total,
        "tokens_per_second_per_user": 1 / float(names["seconds_per_token"]),
        "critical_batch": reading / compute,
        "weight_bytes": weight_bytes(sum(p.params for p in parts(model)), inputs.dtype),
        "cache_bytes": cache_bytes(model, inputs.prompt + inputs.output, inputs.batch, inputs.kv_dtype),
        "prefill_is_memory_bound": int(phases.prefill_compute < phases.prefill_memory),
        "decode_is_memory_bound": int(phases.step_compute < phases.step_memory),
    }
    if inputs.slow_token_ms is not None:
        results["slow_decode_seconds"] = inputs.output * inputs.slow_token_ms / 1e3
    return results


def _warnings(
    machine: Machine, inputs: LatencyInputs, phases: Phases, results: dict[str, Value]
) -> tuple[str, ...]:
    said = []
    needed = int(results["weight_bytes"]) + int(results["cache_bytes"])
    if machine.memory and needed > machine.memory:
        said.append(
            f"Weights and cache need {both_bytes(needed)}; the machine has {both_bytes(int(machine.memory))}."
        )
    binds = [
        ("compute", "memory")[int(results[f"{phase}_is_memory_bound"])] for phase in ("prefill", "decode")
    ]
    said.append(f"Prefill is bound by {binds[0]}, decoding by {binds[1]}.")
    if inputs.slow_token_ms is not None:
        said.append(
            f"At the slower pace the answer takes {number_text(float(results['slow_decode_seconds']))} s by the rule of thumb, "
            "a step for every token."
        )
    if inputs.gpus > 1:
        said.append(
            "Several GPUs are counted as one larger one; real tensor parallelism loses time to communication."
        )
    if inputs.dtype not in ("fp32", "bf16"):
        said.append("Quantised weights save bytes; compute is still counted at the bf16 peak.")
    if inputs.output == 1 or inputs.per_token_ms is None:
        said.append(
            "Launch overhead, sampling and waiting in a queue are left out: measure before you promise."
        )
    return tuple(said)


def _rests_on(results: dict[str, Value]) -> Table:
    """What the times come from, and what one user sees of them."""
    rows = (
        ("tokens a second for each user", number_text(float(results["tokens_per_second_per_user"]), 4)),
        ("tokens a second in all, first token included", number_text(float(results["tokens_per_second"]), 4)),
        ("batch from which a step is bound by compute", number_text(float(results["critical_batch"]), 4)),
        ("weights", both_bytes(int(results["weight_bytes"]))),
        ("cache at full length", both_bytes(int(results["cache_bytes"]))),
    )
    return Table("What it rests on", ("quantity", "value"), rows)


def _by_batch(model: Geometry, machine: Machine, inputs: LatencyInputs, results: dict[str, Value]) -> Chart:
    top = int(min(10**5, max(16, 2 * inputs.batch, 1.5 * float(results["critical_batch"]))))
    sizes = sorted({max(1, top * i // 24) for i in range(25)} | {inputs.batch})
    found = [(b, phases_of(model, machine, replace(inputs, batch=b))) for b in sizes]
    steps = tuple((float(b), p.step) for b, p in found)
    memory = tuple((float(b), p.step_memory) for b, p in found)
    series = (Series("a step", steps), Series("memory alone", memory))
    return Chart("line", "Time a token by batch", "sequences", "time", series, "s", now=float(inputs.batch))


def _bounds(phases: Phases) -> Chart:
    shown = (
        ("prefill, compute", phases.prefill_compute),
        ("prefill, reading weights", phases.prefill_memory),
        ("one token, compute", phases.step_compute),
        ("one token, reading weights and cache", phases.step_memory),
    )
    points = tuple((float(i), s) for i, (_, s) in enumerate(shown))
    longest = max(range(4), key=lambda i: shown[i][1])
    return Chart(
        "bars",
        "What binds each phase",
        "phase",
        "time",
        (Series("time", points),),
        "s",
        labels=tuple(n for n, _ in shown),
        shown=longest,
    )


def _machines(model: Geometry, inputs: LatencyInputs) -> Table:
    rows = []
    for card in ACCELERATORS.values():
        plain = replace(inputs, tflops=None, bandwidth=None, memory=None)
        machine = reached(card, plain)
        phases = phases_of(model, machine, plain)
        total = phases.prefill + (inputs.output - 1) * phases.step
        fits = weight_bytes(sum(p.params for p in parts(model)), inputs.dtype) <= (machine.memory or 0)
        rows.append(
            (
                card.title,
                " ".join(seconds_text(phases.prefill)),
                " ".join(seconds_text(phases.step)),
                " ".join(seconds_text(total)),
                "yes" if fits else "no",
            )
        )
    return Table(
        "The same request elsewhere (data-sheet peaks)",
        ("machine", "first token", "a token", "in all", "weights fit"),
        tuple(rows),
    )
