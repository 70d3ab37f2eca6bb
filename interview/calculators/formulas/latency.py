"""Latency by the roofline: a phase takes as long as its compute or its memory traffic, whichever is longer.

Prefill: causal FLOPs of the prompt over peak x efficiency. Decode: weights and cache read once a step over bandwidth x
efficiency, against the FLOPs of the batch (Williams et al., Roofline, CACM 2009; kipply, Transformer Inference Arithmetic).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from interview.calculators.formulas.accelerators import ACCELERATORS, CHOICES, OWN, Accelerator
from interview.calculators.formulas.attention_flops import prefill_flops, step_flops
from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.kv_dtypes import ALSO as KV_ALSO
from interview.calculators.formulas.kv_dtypes import DTYPES as KV_DTYPES
from interview.calculators.formulas.kv_geometry import of_model
from interview.calculators.formulas.kv_load import Load
from interview.calculators.formulas.kv_modes import Runtime
from interview.calculators.formulas.models import Geometry, models
from interview.calculators.formulas.parameter_count import ALSO, DTYPES, weight_bytes
from interview.calculators.formulas.parameters import FieldError, InputErrors, choice, model, real, whole
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
KV_CHOICES = tuple((d.name, d.title) for d in KV_DTYPES.values() if d.name != "fp8_ds_mla")


@dataclass(frozen=True, slots=True)
class LatencyInputs:
    """A model on a machine, a request, and how much of the peak is reached."""

    model: str = model("meta-llama/Meta-Llama-3.1-8B", "Model")
    accelerator: str = choice("h100", "Machine", CHOICES)
    prompt: int = whole(1000, "Prompt", unit="tokens", high=10**7, slider=True)
    output: int = whole(500, "Answer", unit="tokens", high=10**6)
    batch: int = whole(1, "Sequences at once", high=10**5)
    dtype: str = choice("bf16", "Weights kept as", [(n, t) for n, t, _, _ in DTYPES], also=ALSO)
    kv_dtype: str = choice("bf16", "Cache kept as", KV_CHOICES, also=KV_ALSO)
    gpus: int = whole(1, "GPUs", high=1024, group="Machine")
    tflops: float | None = real(
        None, "Peak", unit="TFLOP/s", low=1e-3, high=1e7, group="Machine", hint="for an own machine"
    )
    bandwidth: float | None = real(None, "Memory bandwidth", unit="GB/s", low=1e-3, high=1e7, group="Machine")
    memory: float | None = real(None, "Memory", unit="GB", low=1e-3, high=1e7, group="Machine")
    compute_efficiency: float = real(
        0.5, "Compute reached", unit="of peak", low=0.001, high=1.0, group="Machine"
    )
    bandwidth_efficiency: float = real(
        0.7, "Bandwidth reached", unit="of peak", low=0.001, high=1.0, group="Machine"
    )
    ttft_ms: float | None = real(
        None, "First token after", unit="ms", high=1e9, group="Measured", hint="instead of the roofline"
    )
    per_token_ms: float | None = real(
        None, "Each token takes", unit="ms", low=1e-6, high=1e9, group="Measured"
    )
    slow_token_ms: float | None = real(None, "up to", unit="ms", low=1e-6, high=1e9, group="Measured")


@dataclass(frozen=True, slots=True)
class Machine:
    """What is reached: FLOP/s, bytes a second, and bytes of memory, over all GPUs."""

    flops: float
    bandwidth: float
    memory: float | None


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds of each phase by what binds it, and bytes read a step."""

    prefill_compute: float
    prefill_memory: float
    step_compute: float
    step_memory: float
    weights: int
    cache: int

    @property
    def prefill(self) -> float:
        """Seconds until the prompt is read."""
        return max(self.prefill_compute, self.prefill_memory)

    @property
    def step(self) -> float:
        """Seconds a token of every sequence."""
        return max(self.step_compute, self.step_memory)


def latency(inputs: LatencyInputs) -> Result:
    """Time to first token, per token and in all. Raises InputErrors for an own machine without its numbers."""
    geometry, machine = models()[inputs.model], _machine(inputs)
    phases = _phases(geometry, machine, inputs)
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
        tables=(_machines(geometry, inputs),),
        program=program(f"Latency: {geometry.name}", working, "seconds"),
    )


def _machine(inputs: LatencyInputs) -> Machine:
    card = ACCELERATORS.get(inputs.accelerator)
    if card is None:
        missing = [n for n in ("tflops", "bandwidth") if getattr(inputs, n) is None]
        if missing:
            raise InputErrors(*(FieldError(n, "is needed for an own machine") for n in missing))
        assert inputs.tflops and inputs.bandwidth
        card = Accelerator(OWN, "own machine", inputs.tflops, inputs.bandwidth, inputs.memory or 0)
    return _reached(card, inputs)


def _reached(card: Accelerator, inputs: LatencyInputs) -> Machine:
    own = card.name in (OWN, inputs.accelerator)
    tflops = inputs.tflops if inputs.tflops and own else card.tflops
    bandwidth = inputs.bandwidth if inputs.bandwidth and own else card.bandwidth
    memory = inputs.memory if inputs.memory and own else card.memory
    return Machine(
        inputs.gpus * tflops * 1e12 * inputs.compute_efficiency,
        inputs.gpus * bandwidth * 1e9 * inputs.bandwidth_efficiency,
        inputs.gpus * memory * 1e9 if memory else None,
    )


def read_parameters(model: Geometry, batch: int) -> int:
    """Weights read in one decode step: the embedding is looked up, and a batch meets only some experts.

    Of E experts, k a token, a batch of b meets E (1 - (1 - k/E)^b) on average when choices are independent.
    """
    count = 0.0
    for part in parts(model):
        if part.group == "embedding" and not model.tie_word_embeddings:
            continue
        share = 1.0
        if part.name == "experts" and model.moe:
            share = 1 - (1 - model.moe.n_active / model.moe.n_experts) ** batch
        count += part.params * share
    return round(count)


def cache_bytes(model: Geometry, tokens: int, sequences: int, dtype: str) -> int:
    """Bytes of cache that one step reads."""
    return Load(of_model(model), KV_DTYPES[dtype], tokens, sequences, Runtime()).total()


def _phases(model: Geometry, machine: Machine, inputs: LatencyInputs) -> Phases:
    half = inputs.prompt + inputs.output // 2
    linear, attention = prefill_flops(model, inputs.prompt, "causal")
    # The head runs on the last position only when a prompt is served.
    head = 2 * (inputs.prompt - 1) * model.vocab_size * model.hidden_size
    weights = weight_bytes(read_parameters(model, inputs.batch), inputs.dtype)
    cache = cache_bytes(model, half, inputs.batch, inputs.kv_dtype)
    every = weight_bytes(read_parameters(model, inputs.batch * inputs.prompt), inputs.dtype)
    return Phases(
        inputs.batch * (linear + attention - head) / machine.flops,
        every / machine.bandwidth,
        inputs.batch * sum(step_flops(model, half)) / machine.flops,
        (weights + cache) / machine.bandwidth,
        weights,
        cache,
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


def _by_batch(model: Geometry, machine: Machine, inputs: LatencyInputs, results: dict[str, Value]) -> Chart:
    top = int(min(10**5, max(16, 2 * inputs.batch, 1.5 * float(results["critical_batch"]))))
    sizes = sorted({max(1, top * i // 24) for i in range(25)} | {inputs.batch})
    found = [(b, _phases(model, machine, replace(inputs, batch=b))) for b in sizes]
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
        machine = _reached(card, plain)
        phases = _phases(model, machine, plain)
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


CALCULATOR = Calculator(
    slug="latency",
    title="Latency",
    summary="Time to first token, time a token, and what binds each, by the roofline of a machine.",
    inputs=LatencyInputs,
    compute=latency,
    formula="ttft + (output - 1) * max((weight_bytes + cache_bytes) / bandwidth, step_flops / peak)",
    formula_name="seconds",
    meaning=(
        "Reading a prompt is one large multiplication and is bound by compute; writing is one step a token, each of "
        "which reads every weight, and is bound by memory bandwidth. That is why batching is nearly free until the "
        "critical batch, and why a shorter answer saves more time than a shorter prompt."
    ),
    usual_mistake=(
        "Dividing FLOPs by peak to estimate tokens a second. At small batches the arithmetic units wait for memory, "
        "and the right quotient is bytes read over bandwidth."
    ),
    sources=(
        "Roofline: Williams, Waterman, Patterson, CACM 52(4), 2009",
        "Peaks, bandwidth and memory: the vendors’ data sheets, dense bf16 or fp16",
    ),
    presets=(
        Preset(
            "500 tokens at 20 to 50 ms", "prompt=1000&output=500&ttft_ms=300&per_token_ms=20&slow_token_ms=50"
        ),
        Preset("Llama 3.1 8B on an L4 in q4_0", "accelerator=l4&dtype=q4_0"),
        Preset("70B on four H100, batch 32", "model=meta-llama/Meta-Llama-3.1-70B&gpus=4&batch=32"),
        Preset(
            "own machine, SmolLM2",
            "model=HuggingFaceTB/SmolLM2-135M&accelerator=own&tflops=0.8&bandwidth=20&dtype=q4_0&prompt=44&output=100",
        ),
    ),
)
