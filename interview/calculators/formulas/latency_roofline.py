"""Latency by the roofline: a phase takes as long as its compute or its memory traffic, whichever is longer.

Prefill: causal FLOPs of the prompt over peak x efficiency. Decode: weights and cache read once a step over bandwidth x
efficiency, against the FLOPs of the batch (Williams et al., Roofline, CACM 2009; kipply, Transformer Inference Arithmetic).
"""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.accelerators import ACCELERATORS, CHOICES, OWN, Accelerator
from interview.calculators.formulas.attention_flops import prefill_flops, step_flops
from interview.calculators.formulas.kv_dtypes import ALSO as KV_ALSO
from interview.calculators.formulas.kv_dtypes import DTYPES as KV_DTYPES
from interview.calculators.formulas.kv_geometry import of_model
from interview.calculators.formulas.kv_load import Load
from interview.calculators.formulas.kv_modes import Runtime
from interview.calculators.formulas.models import Geometry
from interview.calculators.formulas.parameter_count import ALSO, DTYPES, weight_bytes
from interview.calculators.formulas.parameters import FieldError, InputErrors, choice, model, real, whole
from interview.calculators.formulas.weights import parts

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


def machine_of(inputs: LatencyInputs) -> Machine:
    """What the typed machine reaches. Raises InputErrors for an own machine without its numbers."""
    card = ACCELERATORS.get(inputs.accelerator)
    if card is None:
        missing = [n for n in ("tflops", "bandwidth") if getattr(inputs, n) is None]
        if missing:
            raise InputErrors(*(FieldError(n, "is needed for an own machine") for n in missing))
        assert inputs.tflops and inputs.bandwidth
        card = Accelerator(OWN, "own machine", inputs.tflops, inputs.bandwidth, inputs.memory or 0)
    return reached(card, inputs)


def reached(card: Accelerator, inputs: LatencyInputs) -> Machine:
    """A card at the efficiency asked for, its numbers replaced where they are typed."""
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


def phases_of(model: Geometry, machine: Machine, inputs: LatencyInputs) -> Phases:
    """Seconds of prompt and step by what binds them."""
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
