"""The words of the context budget calculator: what the number means, the usual mistake, presets, sources."""

from __future__ import annotations

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.context_budget import BudgetInputs, context_budget

CALCULATOR = Calculator(
    slug="context-budget",
    title="Context budget",
    summary="What is left of the window, what fits, and the turn at which it no longer does.",
    inputs=BudgetInputs,
    compute=context_budget,
    formula="window - (system + tools + reserved_output) - safety_tokens - chunk_tokens - history",
    formula_name="tokens left",
    meaning=(
        "The window holds the prompt and the answer together, and nothing is remembered from one call to the next. "
        "So every call is packed anew: what must be there first, then passages by relevance, then as much history as "
        "fits. A long chat always reaches the turn that does not fit; the design question is what happens then."
    ),
    usual_mistake=(
        "Forgetting the answer: a prompt that fills the window leaves no tokens to write with. The opposite is to "
        "reserve the model’s largest possible answer, which leaves no history. Either way the budget has to be "
        "clamped at zero and explained, never turned into minus three turns."
    ),
    sources=(
        "Arithmetic by definition",
        "Negative budgets in the wild: github.com/llama-farm/llamafarm/issues/760",
        "Reserving the whole ceiling: github.com/EverMind-AI/Raven/pull/308",
    ),
    presets=(
        Preset(
            "8,000 tokens, six passages",
            "window=8000&system=600&tools=0&reserved_output=0&safety_fraction=0&chunks=6&tokens_per_chunk=500"
            "&history=2400&message=0&turn_user=300&turn_assistant=500",
        ),
        Preset("128,000 tokens, tools and a margin", ""),
        Preset("too much for the window", "window=4096&system=900&tools=2000&reserved_output=2048"),
        Preset(
            "passages by relevance",
            "window=4096&tools=0&system=500&reserved_output=1024&relevance=faq%200.92:900%0Aguide%200.85:700%0Alog%200.31:1200",
        ),
    ),
)
