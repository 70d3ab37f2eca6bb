"""Attention: how time grows when a prompt doubles and what the cache saves, against the FLOPs that predict it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interview.calculators.formulas.attention_cost import AttentionInputs
from interview.calculators.formulas.attention_flops import prefill_flops, scored, step_flops
from interview.calculators.formulas.models import Geometry
from interview.calculators.measuring.local import engine_of, generate, geometry_of, neighbours, prompt_of
from interview.calculators.measuring.proof import CLOSE, SEEN, Proof, Row
from interview.runs.kinds import JSON, Job

if TYPE_CHECKING:
    from engine import Engine

MOST_TOKENS, LEAST_TOKENS, TRIES, MOST_MAPS = 1024, 128, 2, 32


def plan(inputs: AttentionInputs) -> JSON:
    """The prompt asked for, such that twice its length still runs in seconds."""
    return {"tokens": max(LEAST_TOKENS, min(inputs.tokens, MOST_TOKENS))}


def measure(job: Job, plan: JSON) -> Proof:
    """Time a prompt, one of twice its length, and the next token with the cache."""
    engine = engine_of(job)
    geometry, beside = geometry_of(engine), neighbours(engine)
    tokens = plan["tokens"]
    once, step = _timed(job, tokens)
    twice, _ = _timed(job, 2 * tokens)
    flops, doubled = (served_flops(geometry, n) for n in (tokens, 2 * tokens))
    cached = sum(step_flops(geometry, tokens))
    share = prefill_flops(geometry, tokens, "causal")[1] / flops
    return Proof(
        setting=f"{tokens} and {2 * tokens} tokens on {engine.card.name}",
        rows=(
            _weights(engine, geometry, min(tokens, LEAST_TOKENS)),
            Row("Prompt of this length", "s", None, once, SEEN),
            Row("Prompt of twice the length", "s", None, twice, SEEN),
            Row("FLOPs a second reached", "FLOP/s", None, flops / once, SEEN),
            Row("Doubling the prompt takes", "times", doubled / flops, twice / once, CLOSE),
            Row(
                "Reading it all again instead of the cache takes", "times", flops / cached, once / step, CLOSE
            ),
        ),
        notes=(
            f"Attention’s share of the prompt’s FLOPs is {100 * share:.1f}%: doubling would cost exactly 2 without it and 4 with "
            "nothing else.",
            "One token with the cache is bound by memory, a prompt by arithmetic, so the cache saves less time than FLOPs.",
            *([f"{beside} other requests ran at the same time and took their share."] if beside else []),
        ),
    )


def served_flops(geometry: Geometry, tokens: int) -> int:
    """FLOPs of a prompt as it is served: causal pairs, the head on the last position alone."""
    head = 2 * (tokens - 1) * geometry.vocab_size * geometry.hidden_size
    return sum(prefill_flops(geometry, tokens, "causal")) - head


def _timed(job: Job, tokens: int) -> tuple[float, float]:
    """Seconds of reading a fresh prompt and of one token after it, the best of a few tries."""
    from engine import Request, Sampling

    engine = engine_of(job)
    sampling = Sampling(max_tokens=6, logit_bias=dict.fromkeys(engine.tokenizer.eos_ids, -100.0))
    results = [
        generate(job, Request(prompt=prompt_of(engine, tokens), sampling=sampling, speculate=0))
        for _ in range(TRIES)
    ]
    reads = [float(r.timings["prefill_ms"] or 0) / 1e3 for r in results]
    steps = [float(r.timings["itl_ms_p50"] or 0) / 1e3 for r in results]
    return min(reads), min(steps)


def _weights(engine: Engine, geometry: Geometry, tokens: int) -> Row:
    """Attention weights that one head of every layer really forms over a prompt, counted in the model's own maps."""
    from engine import Request
    from engine.observe import Observe

    request = Request(prompt=prompt_of(engine, tokens))
    layers = min(geometry.n_layers, MOST_MAPS)
    seen = engine.observe(
        Observe(request=request, attention=tuple((i, 0) for i in range(layers)), positions=())
    )
    formed = sum(len(row) for one in seen.attention for row in one.weights)
    says = layers * scored(geometry)[0].pairs(tokens, "causal")
    return Row(f"Pairs that one head of {layers} layers scores over {tokens} tokens", "pairs", says, formed)
