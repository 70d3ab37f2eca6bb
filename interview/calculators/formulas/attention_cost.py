"""FLOPs of prefill and of one decode step, by part, and the pairs that attention scores.

Two FLOPs a multiply-add. Linear layers: 2 x matrix weights x tokens, the output head on every prompt position.
Scores and the weighted sum: 2 x pairs x heads x (key + value width) a layer; causal pairs are n(n+1)/2.
Norms, rope, softmax and activations are left out (each is far below one percent).
"""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.attention_flops import Scored, prefill_flops, scored, step_flops
from interview.calculators.formulas.attention_pictures import doubling, pictures
from interview.calculators.formulas.models import Geometry
from interview.calculators.formulas.own_model import GROUP, MLPS, geometry_of
from interview.calculators.formulas.parameters import choice, model, whole
from interview.calculators.formulas.result import Headline, Result, Table, Value, Working, program
from interview.calculators.formulas.units import grouped, number_text, prefixed
from interview.calculators.formulas.weights import token_matrices, total

NEEDED = ("layers", "hidden")


@dataclass(frozen=True, slots=True)
class AttentionInputs:
    """A model, a prompt and the way pairs are counted; the geometry fields are for `model=own`."""

    model: str = model("meta-llama/Llama-2-7b-hf", "Model", own=True)
    tokens: int = whole(2048, "Prompt", unit="tokens", high=10**8, slider=True)
    sequences: int = whole(1, "Sequences", high=10**6)
    mask: str = choice("full", "Pairs", [("full", "n × n"), ("causal", "causal")], segmented=True)
    layers: int | None = whole(None, "Layers", high=10**5, group=GROUP)
    hidden: int | None = whole(None, "Hidden size", high=10**6, group=GROUP)
    heads: int | None = whole(None, "Query heads", high=10**5, group=GROUP, hint="hidden / 128 if empty")
    kv_heads: int | None = whole(None, "KV heads", high=10**5, group=GROUP, hint="as query heads if empty")
    head_dim: int | None = whole(
        None, "Head dimension", high=10**5, group=GROUP, hint="hidden / heads if empty"
    )
    intermediate: int | None = whole(
        None, "Feed-forward width", high=10**7, group=GROUP, hint="4 × hidden if empty"
    )
    vocabulary: int | None = whole(
        None, "Vocabulary", high=10**8, group=GROUP, hint="without it no output head is counted"
    )
    mlp: str = choice("plain", "Feed-forward", MLPS, group=GROUP)
    experts: int | None = whole(
        None, "Experts a layer", high=10**5, group=GROUP, hint="each of the feed-forward width"
    )
    active_experts: int | None = whole(None, "Experts a token uses", high=10**5, group=GROUP)
    window: int | None = whole(None, "Window", unit="tokens", group=GROUP)
    window_layers: int | None = whole(
        None, "Layers with the window", low=0, high=10**5, group=GROUP, hint="all if empty"
    )


def attention_cost(inputs: AttentionInputs) -> Result:
    """FLOPs and score pairs for these inputs. Raises InputErrors where an own geometry is incomplete."""
    geometry = geometry_of(inputs, NEEDED)
    working = _working(geometry, inputs)
    results = _results(geometry, inputs)
    value, prefix = prefixed(int(results["flops"]))
    share = 100 * int(results["attention_flops"]) / int(results["flops"])
    return Result(
        headline=Headline(
            value,
            f"{prefix}FLOP",
            f"attention {number_text(share, 3)}%",
            f"{grouped(int(results['flops']))} FLOPs",
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(geometry, inputs),
        charts=pictures(geometry, inputs.tokens, inputs.sequences, inputs.mask),
        tables=(_counted_otherwise(results), doubling(geometry, inputs.tokens, inputs.mask)),
        program=program(f"Prefill FLOPs: {geometry.name}", working, "flops"),
    )


def _working(model: Geometry, inputs: AttentionInputs) -> Working:
    working = Working()
    working.given(tokens=inputs.tokens, sequences=inputs.sequences, matrix_weights=token_matrices(model))
    working.step(
        "linear_flops", "Matrices: 2 per weight and token", "sequences * 2 * tokens * matrix_weights", "FLOPs"
    )
    names = [_pair_steps(working, s, i, inputs) for i, s in enumerate(scored(model))]
    working.step("attention_flops", "Scores and weighted sums", " + ".join(names), "FLOPs")
    working.step("flops", "Prefill", "linear_flops + attention_flops", "FLOPs")
    return working


def _pair_steps(working: Working, part: Scored, i: int, inputs: AttentionInputs) -> str:
    kind = (
        f"chunks of {part.window}"
        if part.chunked
        else f"a window of {part.window}"
        if part.window
        else "full layers"
    )
    working.given(**{f"layers_{i}": part.layers, "heads": part.heads, f"key_value_width_{i}": part.width})
    code = _pair_code(part, inputs)
    if part.window:
        working.given(window=part.window)
    working.step(f"pairs_{i}", f"Pairs a head, {kind}", code, "pairs")
    code = f"sequences * 2 * layers_{i} * heads * key_value_width_{i} * pairs_{i}"
    working.step(f"score_flops_{i}", f"Their FLOPs, {kind}", code, "FLOPs")
    return f"score_flops_{i}"


def _pair_code(part: Scored, inputs: AttentionInputs) -> str:
    if not part.window or part.window >= inputs.tokens:
        return "tokens ** 2" if inputs.mask == "full" else "tokens * (tokens + 1) / 2"
    if part.chunked:
        rest = "(tokens - window * floor(tokens / window))"
        return f"floor(tokens / window) * window * (window + 1) / 2 + {rest} * ({rest} + 1) / 2"
    return "window * (window + 1) / 2 + (tokens - window) * window"


def _results(model: Geometry, inputs: AttentionInputs) -> dict[str, Value]:
    n, users = inputs.tokens, inputs.sequences
    linear, attention = prefill_flops(model, n, inputs.mask)
    step_linear, step_attention = step_flops(model, n)
    twice = sum(prefill_flops(model, 2 * n, inputs.mask))
    without = sum(prefill_flops(model, n + 1, inputs.mask))
    return {
        "flops": users * (linear + attention),
        "linear_flops": users * linear,
        "attention_flops": users * attention,
        "attention_flops_full": users * prefill_flops(model, n, "full")[1],
        "attention_flops_causal": users * prefill_flops(model, n, "causal")[1],
        "score_pairs_full_per_head": n * n,
        "score_pairs_causal_per_head": n * (n + 1) // 2,
        "decode_step_flops": users * (step_linear + step_attention),
        "decode_step_attention_flops": users * step_attention,
        "step_flops_without_cache": users * without,
        "two_p_t_flops": users * 2 * total(model) * n,
        "flops_growth_when_tokens_double": twice / (linear + attention),
        "attention_growth_when_tokens_double": prefill_flops(model, 2 * n, inputs.mask)[1] / attention
        if attention
        else 0,
    }


def _counted_otherwise(results: dict[str, Value]) -> Table:
    shown = (
        ("flops", "this prompt, as asked for", "FLOPs"),
        ("two_p_t_flops", "by the rule 2 × parameters × tokens", "FLOPs"),
        ("attention_flops_full", "scores and sums over all n² pairs", "FLOPs"),
        ("attention_flops_causal", "scores and sums over causal pairs", "FLOPs"),
        ("decode_step_flops", "the next token with the cache", "FLOPs"),
        ("decode_step_attention_flops", "of it scores and sums", "FLOPs"),
        ("step_flops_without_cache", "the next token without the cache", "FLOPs"),
        ("score_pairs_full_per_head", "pairs a head, all", "pairs"),
        ("score_pairs_causal_per_head", "pairs a head, causal", "pairs"),
    )
    rows = tuple((said, results[name], unit) for name, said, unit in shown)
    return Table("Counted otherwise", ("what", "count", "unit"), rows)


def _warnings(model: Geometry, inputs: AttentionInputs) -> tuple[str, ...]:
    said = ["2 × parameters × tokens leaves out the n² term and counts the embedding lookup as a matrix."]
    if model.n_kv_heads < model.n_heads and not model.mla:
        said.append(
            "GQA saves no score FLOPs: every query head still scores every pair. It saves cache and bandwidth."
        )
    if model.window:
        said.append("Window layers are counted causally: a pair outside the window is never scored.")
    if model.state:
        said.append("Recurrent layers count their matrices; the state update, linear in tokens, is left out.")
    if model.moe:
        said.append("Only the experts a token is sent to are counted.")
    if model.max_position and inputs.tokens > model.max_position:
        said.append(f"The prompt is longer than the model’s context of {grouped(model.max_position)}.")
    return tuple(said)
