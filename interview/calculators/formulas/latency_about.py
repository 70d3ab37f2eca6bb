"""The words of the latency calculator: what the number means, the usual mistake, presets, sources."""

from __future__ import annotations

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.latency import latency
from interview.calculators.formulas.latency_roofline import LatencyInputs

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
