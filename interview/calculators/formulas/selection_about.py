"""The words of the model choice calculator: what the number means, the usual mistake, presets, sources."""

from __future__ import annotations

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.selection import SelectionInputs, selection

CALCULATOR = Calculator(
    slug="selection",
    title="Model choice",
    summary="What a task that succeeded costs: retries, review and failures counted, model by model and routed.",
    inputs=SelectionInputs,
    compute=selection,
    formula="(attempts * (attempt_usd + review_usd) + (1 - succeeded) * failure_usd) / succeeded",
    formula_name="USD per success",
    meaning=(
        "The price list is per token; what you pay for is a finished task. A model that fails one time in five is "
        "retried, checked and in the end replaced by a person, and that often costs more than the better model. "
        "Sending easy tasks to a small model and its noticed failures to a large one is usually cheapest of all."
    ),
    usual_mistake=(
        "Comparing price per million tokens. The cheapest attempt is seldom the cheapest success, and a routing plan "
        "is only as good as its chance of noticing that the small model failed."
    ),
    sources=("Expected values by definition (a geometric series, cut after the last retry)",),
    presets=(
        Preset("small against large", ""),
        Preset("failures are expensive", "failure_cost=2&retries=0"),
        Preset("half the failures go unnoticed", "caught=0.5&failure_cost=0.5"),
        Preset(
            "four models",
            "models=nano, 0.1, 0.4, 70%0Amini, 0.25, 2, 86%0Astandard, 1.25, 10, 94%0Alarge, 5, 25, 98",
        ),
    ),
)
