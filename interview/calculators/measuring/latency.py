"""Latency: the machine's own bandwidth and arithmetic measured, the roofline drawn from them, a request timed."""

from __future__ import annotations

import time
from collections.abc import Callable

from interview.calculators.formulas.latency_roofline import LatencyInputs
from interview.calculators.measuring.local import (
    cache_dtype,
    engine_of,
    generate,
    geometry_of,
    neighbours,
    predicted,
    prompt_of,
)
from interview.calculators.measuring.proof import CLOSE, SEEN, Proof, Row
from interview.runs.kinds import JSON, Job

MOST_PROMPT, MOST_OUTPUT, LEAST_PROMPT = 1500, 128, 8
REPEATS = 6
WEIGHTS = {"int4": "q4_1", "int8": "fp8", "bf16": "bf16", "fp16": "bf16", "fp32": "fp32"}


def plan(inputs: LatencyInputs) -> JSON:
    """The request asked for, cut to what runs in seconds."""
    return {
        "prompt": max(LEAST_PROMPT, min(inputs.prompt, MOST_PROMPT)),
        "output": max(2, min(inputs.output, MOST_OUTPUT)),
    }


def measure(job: Job, plan: JSON) -> Proof:
    """Time one request and hold it against the roofline of the machine it ran on."""
    from engine import Request, Sampling

    engine = engine_of(job)
    beside = neighbours(engine)
    flops, bandwidth = matrix_flops(), read_bandwidth()
    sampling = Sampling(max_tokens=plan["output"], logit_bias=dict.fromkeys(engine.tokenizer.eos_ids, -100.0))
    request = Request(prompt=prompt_of(engine, plan["prompt"]), sampling=sampling, speculate=0)
    generate(job, Request(prompt="Warm up.", sampling=Sampling(max_tokens=4), speculate=0))
    result = generate(job, request)
    says = predicted(
        "latency",
        model=geometry_of(engine).id,
        accelerator="own",
        tflops=flops / 1e12,
        bandwidth=bandwidth / 1e9,
        compute_efficiency=1,
        bandwidth_efficiency=1,
        dtype=WEIGHTS[weights_of(engine.card.weight_format)],
        kv_dtype=cache_dtype(engine),
        **plan,
    )
    times = result.timings
    ttft, gap, rate = (float(times[n] or 0) for n in ("ttft_ms", "itl_ms_p50", "tokens_per_s"))
    return Proof(
        setting=f"{plan['prompt']} tokens in, {plan['output']} out on {engine.card.name} ({engine.card.weight_format})",
        rows=(
            Row(
                "Arithmetic of this machine",
                "FLOP/s",
                None,
                flops,
                SEEN,
                "matrix product (bf16 where the CPU has it), best of six",
            ),
            Row(
                "Memory reads of this machine",
                "bytes/s",
                None,
                bandwidth,
                SEEN,
                "one pass over 256 MB, best of six",
            ),
            Row("First token", "s", says["ttft_seconds"], ttft / 1e3, CLOSE),
            Row("Each token after it (median)", "s", says["seconds_per_token"], gap / 1e3, CLOSE),
            Row(
                "Tokens a second while writing", "tokens/s", 1 / float(says["seconds_per_token"]), rate, CLOSE
            ),
        ),
        notes=(
            "The roofline is a bound: a measured time should not be shorter, and how far it lies above is what the software "
            "loses, mostly to small steps that neither read weights nor multiply.",
            *([f"{beside} other requests ran at the same time and took their share."] if beside else []),
        ),
    )


def weights_of(card_format: str) -> str:
    """The engine's own name of its weight format, out of what the card says."""
    lowered = card_format.lower()
    return next((name for name in WEIGHTS if name in lowered), "int4")


def best_seconds(work: Callable[[], object]) -> float:
    """The shortest of several runs after one to warm up: what the machine can do when nothing disturbs it."""
    work()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def matrix_flops(side: int = 1024) -> float:
    """FLOP/s of a matrix product of `side` by `side`: in bf16, or in fp32 on a CPU that has no bf16 products."""
    import torch

    from engine.arranged import arranges_bf16

    left, right = torch.randn(2, side, side).to(torch.bfloat16 if arranges_bf16() else torch.float32)
    with torch.inference_mode():
        return float(2 * side**3 / best_seconds(lambda: left @ right))


def read_bandwidth(megabytes: int = 256) -> float:
    """Bytes a second that one pass over a large array reads."""
    import torch

    data = torch.ones(megabytes * 10**6 // 4)
    with torch.inference_mode():
        return float(data.nbytes / best_seconds(data.sum))
