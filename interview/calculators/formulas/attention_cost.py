"""FLOPs of prefill and of one decode step, by part, and the pairs that attention scores.

Two FLOPs a multiply-add. Linear layers: 2 x matrix weights x tokens, the output head on every prompt position.
Scores and the weighted sum: 2 x pairs x heads x (key + value width) a layer; causal pairs are n(n+1)/2.
Norms, rope, softmax and activations are left out (each is far below one percent).
"""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.models import Geometry, models
from interview.calculators.formulas.parameters import choice, model, whole
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
from interview.calculators.formulas.units import grouped, number_text, prefixed
from interview.calculators.formulas.weights import parts, token_matrices, total

SAMPLES = 24


@dataclass(frozen=True, slots=True)
class AttentionInputs:
    """A model, a prompt and the way pairs are counted."""

    model: str = model("meta-llama/Llama-2-7b-hf", "Model")
    tokens: int = whole(2048, "Prompt", unit="tokens", high=10**8, slider=True)
    sequences: int = whole(1, "Sequences", high=10**6)
    mask: str = choice("full", "Pairs", [("full", "n × n"), ("causal", "causal")], segmented=True)


@dataclass(frozen=True, slots=True)
class Scored:
    """Layers that score alike: how many, heads, and the widths of key and value."""

    layers: int
    heads: int
    width: int
    window: int | None
    chunked: bool

    def pairs(self, tokens: int, mask: str) -> int:
        """Query-key pairs one head of one layer scores over a prompt."""
        if mask == "full" and not self.window:
            return tokens * tokens
        if not self.window or self.window >= tokens:
            return tokens * tokens if mask == "full" else tokens * (tokens + 1) // 2
        if self.chunked:
            whole_chunks, rest = divmod(tokens, self.window)
            return whole_chunks * self.window * (self.window + 1) // 2 + rest * (rest + 1) // 2
        return self.window * (self.window + 1) // 2 + (tokens - self.window) * self.window

    def flops(self, pairs: int) -> int:
        """FLOPs of scores and weighted sum for so many pairs a head."""
        return 2 * pairs * self.heads * self.width * self.layers


def scored(model: Geometry) -> tuple[Scored, ...]:
    """The attention of a model, by kind of layer."""
    if model.mla:
        width = model.mla.qk_nope_head_dim + model.mla.qk_rope_head_dim + model.mla.v_head_dim
        return (Scored(model.n_layers, model.n_heads, width, None, False),)
    width = 2 * model.head_dim
    if model.window is None:
        return (Scored(model.cache_layers, model.n_heads, width, None, False),)
    local, full = model.window.pattern.count("S"), model.window.pattern.count("F")
    wide = 2 * model.global_attention.head_dim if model.global_attention else width
    limited = Scored(local, model.n_heads, width, model.window.size, model.window.chunked)
    return tuple(s for s in (limited, Scored(full, model.n_heads, wide, None, False)) if s.layers)


def prefill_flops(model: Geometry, tokens: int, mask: str) -> tuple[int, int]:
    """(linear, attention) FLOPs of one prompt."""
    linear = 2 * tokens * token_matrices(model)
    return linear, sum(s.flops(s.pairs(tokens, mask)) for s in scored(model))


def step_flops(model: Geometry, tokens: int) -> tuple[int, int]:
    """(linear, attention) FLOPs of the next token after `tokens` cached ones."""
    seen = [(s, min(s.window or tokens + 1, tokens + 1)) for s in scored(model)]
    return 2 * token_matrices(model), sum(s.flops(n) for s, n in seen)


def attention_cost(inputs: AttentionInputs) -> Result:
    """FLOPs and score pairs for these inputs."""
    geometry = models()[inputs.model]
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
        charts=(_growth(geometry, inputs), _by_part(geometry, inputs)),
        tables=(_doubling(geometry, inputs),),
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
    if inputs.tokens > model.max_position:
        said.append(f"The prompt is longer than the model’s context of {grouped(model.max_position)}.")
    return tuple(said)


def _growth(model: Geometry, inputs: AttentionInputs) -> Chart:
    lengths = sorted(
        {max(1, 2 * inputs.tokens * i // SAMPLES) for i in range(1, SAMPLES + 1)} | {inputs.tokens}
    )
    costs = [(n, prefill_flops(model, n, inputs.mask)) for n in lengths]
    users = inputs.sequences
    both = tuple((float(n), float(users * (a + b))) for n, (a, b) in costs)
    linear = tuple((float(n), float(users * a)) for n, (a, _) in costs)
    return Chart(
        kind="line",
        title="Prefill FLOPs by prompt length",
        x_label="tokens",
        y_label="FLOPs",
        y_unit="FLOPs",
        series=(Series("with attention", both), Series("matrices alone", linear)),
        now=float(inputs.tokens),
    )


def _by_part(model: Geometry, inputs: AttentionInputs) -> Chart:
    matrices = {"attention": 0, "ffn": 0}
    for part in parts(model):
        if part.group in matrices:
            matrices[part.group] += part.used_matrix
    factor = 2 * inputs.tokens * inputs.sequences
    shown = [
        ("q, k, v, o projections", factor * matrices["attention"]),
        ("feed-forward", factor * matrices["ffn"]),
        ("output head", factor * model.vocab_size * model.hidden_size),
        ("scores and weighted sums", inputs.sequences * prefill_flops(model, inputs.tokens, inputs.mask)[1]),
    ]
    points = tuple((float(i), float(n)) for i, (_, n) in enumerate(shown))
    labels = tuple(name for name, _ in shown)
    return Chart(
        "bars",
        "Prefill by part",
        "part",
        "FLOPs",
        (Series("FLOPs", points),),
        "FLOPs",
        labels=labels,
        shown=3,
    )


def _doubling(model: Geometry, inputs: AttentionInputs) -> Table:
    rows = []
    for factor in (1, 2, 4, 8):
        n = inputs.tokens * factor
        linear, attention = prefill_flops(model, n, inputs.mask)
        step = sum(step_flops(model, n))
        rows.append((n, n * n, linear, attention, step, sum(prefill_flops(model, n + 1, inputs.mask))))
    columns = (
        "tokens",
        "pairs n²",
        "matrix FLOPs",
        "attention FLOPs",
        "next token, cached",
        "next token, no cache",
    )
    return Table("When the prompt doubles (one sequence)", columns, tuple(rows))


CALCULATOR = Calculator(
    slug="attention",
    title="Attention cost",
    summary="Score pairs and FLOPs of prefill and of one more token, with and without a cache.",
    inputs=AttentionInputs,
    compute=attention_cost,
    formula="2 * tokens * matrix_weights + 2 * layers * heads * (key_width + value_width) * pairs",
    formula_name="flops",
    meaning=(
        "Every token is scored against every earlier one, so twice the prompt makes four times the pairs. At short "
        "lengths the matrices still cost far more than the scores; the square takes over at tens of thousands of "
        "tokens. With a cache, one more token costs one row of that square instead of all of it."
    ),
    usual_mistake=(
        "Saying the whole prefill is quadratic. Only the scores and weighted sums are; the matrices grow in step "
        "with tokens. And grouped-query attention makes the cache smaller, not the scores cheaper."
    ),
    sources=(
        "Counting multiply-adds by definition",
        "The 2 × parameters × tokens rule: EleutherAI, Transformer Math 101",
    ),
    presets=(
        Preset("Llama 2 7B, 2,048 tokens", "model=meta-llama/Llama-2-7b-hf&tokens=2048"),
        Preset("the same, causal", "tokens=2048&mask=causal"),
        Preset("Llama 3.1 8B at 128,000", "model=meta-llama/Meta-Llama-3.1-8B&tokens=128000&mask=causal"),
        Preset("Gemma 3 27B with windows", "model=google/gemma-3-27b-it&tokens=128000&mask=causal"),
    ),
)
