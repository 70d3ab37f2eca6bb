"""The words of the cost calculator: what the number means, the usual mistake, presets, sources."""

from __future__ import annotations

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.cost import cost
from interview.calculators.formulas.cost_bill import CostInputs

CALCULATOR = Calculator(
    slug="cost",
    title="Cost",
    summary="What a request and a month cost: cached tokens, tiers, batches, images and tools, each token billed once.",
    inputs=CostInputs,
    compute=cost,
    formula="(fresh_tokens * input_price + read_tokens * read_price + write_tokens * write_price + output_tokens * output_price) / million",
    formula_name="USD",
    meaning=(
        "Output costs several times as much as input, so shorter answers save first. A long prompt that repeats is "
        "cheap from the second time on, if the provider caches it and the bill counts it once. The rest is volume: a "
        "tenth of a cent is a hundred dollars at a hundred thousand requests."
    ),
    usual_mistake=(
        "Billing cached tokens twice. Some interfaces include them in the input count, others report them beside it; "
        "mix the two up and the estimate is off by a factor of two either way."
    ),
    sources=(
        "Cache writes billed twice: github.com/BerriAI/litellm/issues/9812",
        "Cached reads taken out of the input: github.com/earendil-works/pi/pull/2148",
        "List prices: the genai-prices package (MIT), each with its provider’s page",
    ),
    presets=(
        Preset(
            "a cache write, counted apart",
            "accounting=separate&input_tokens=3&cache_write_tokens=12304&output_tokens=550&input_usd=3&cache_write_usd=3.75&cache_read_usd=0.3&output_usd=15&requests=1",
        ),
        Preset(
            "a cache read, counted within",
            "accounting=inclusive&input_tokens=20212&cache_read_tokens=16298&output_tokens=931&input_usd=0.5&cache_read_usd=0.05&output_usd=3&requests=1",
        ),
        Preset(
            "a long request in a tier",
            "input_tokens=300000&input_usd=2&output_usd=12&tier_start=200000&tier_input_usd=4&tier_output_usd=18",
        ),
        Preset("overnight batch", "batch_discount=0.5"),
    ),
)
