"""The words of the attention calculator: what the number means, the usual mistake, presets, sources."""

from __future__ import annotations

from interview.calculators.formulas.attention_cost import AttentionInputs, attention_cost
from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.model_config import shape_reader
from interview.calculators.formulas.own_model import prepare

CALCULATOR = Calculator(
    slug="attention",
    title="Attention cost",
    summary="Score pairs and FLOPs of prefill and of one more token, with and without a cache.",
    inputs=AttentionInputs,
    compute=attention_cost,
    prepare=prepare,
    from_config=shape_reader(AttentionInputs),
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
        Preset(
            "one layer of your own",
            "model=own&tokens=1000&layers=1&hidden=4096&heads=32&kv_heads=8&intermediate=14336&mlp=gated",
        ),
        Preset("Gemma 3 27B with windows", "model=google/gemma-3-27b-it&tokens=128000&mask=causal"),
    ),
)
