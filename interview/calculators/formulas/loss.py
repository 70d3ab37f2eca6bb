"""Token probability, negative log-likelihood, bits and perplexity, and how many predictions a text gives.

nll = -ln p; bits = nll / ln 2; perplexity = exp(mean nll). A text of n tokens under a causal mask gives n - 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.lists import numbers
from interview.calculators.formulas.parameters import choice, refuse, text, whole
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
from interview.calculators.formulas.units import number_text

KINDS = (
    ("probability", "probability"),
    ("nll", "loss (nats)"),
    ("bits", "bits"),
    ("perplexity", "perplexity"),
)
MOST_NLL = 700.0


@dataclass(frozen=True, slots=True)
class LossInputs:
    """One value or several, in any of the four readings."""

    values: str = text("0.5", "Values", longest=4000, hint="one for each token, such as 0.5, 0.01")
    given_as: str = choice("probability", "Given as", KINDS)
    tokens: int = whole(1000, "Text length", unit="tokens", high=10**12)
    documents: int = whole(1, "Documents packed into it", high=10**9, hint="no prediction crosses a document")
    vocabulary: int = whole(
        50_000, "Vocabulary", high=10**8, hint="for the loss of a model that knows nothing"
    )


def loss(inputs: LossInputs) -> Result:
    """Mean loss and its readings. Raises InputErrors for a value out of its range."""
    if inputs.documents > inputs.tokens:
        raise refuse("documents", "is more than there are tokens")
    losses = [_nll(inputs.given_as, v) for v in numbers("values", inputs.values, most=200)]
    working = _working(inputs, losses)
    mean = float(working.names["nll"])
    results: dict[str, Value] = {
        "nll": mean,
        "bits": mean / math.log(2),
        "perplexity": math.exp(mean),
        "probability": math.exp(-mean),
        "sequence_nll": sum(losses),
        "predictions": inputs.tokens - inputs.documents,
        "uniform_nll": math.log(inputs.vocabulary),
    }
    return Result(
        headline=Headline(
            number_text(mean, 4),
            "nats",
            f"perplexity {number_text(math.exp(mean), 4)}",
            f"{number_text(mean / math.log(2), 4)} bits a token",
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(inputs, losses, mean),
        charts=(_curve(losses),),
        tables=(_table(losses), _landmarks(inputs.vocabulary)),
        program=program("Loss of predicted tokens", working, "nll"),
    )


def _nll(kind: str, value: float) -> float:
    allowed = {
        "probability": (0 < value <= 1, "above 0 and at most 1"),
        "nll": (value >= 0, "from 0 to 700"),
        "bits": (value >= 0, "from 0 to 1009"),
        "perplexity": (value >= 1, "1 or more"),
    }
    holds, said = allowed[kind]
    if not holds:
        infinite = kind == "probability" and value == 0
        more = ": the loss of a token given no probability at all is infinite" if infinite else ""
        raise refuse("values", f"{number_text(value)} is not a {kind}: it must be {said}{more}")
    nats = _nats(kind, value)
    if nats > MOST_NLL:
        # exp(nats) is the perplexity, and past 709 it is more than a number here can hold.
        raise refuse(
            "values", f"{number_text(value)} is a loss above {MOST_NLL:g} nats: its perplexity is too large"
        )
    return nats


def _nats(kind: str, value: float) -> float:
    if kind == "nll":
        return value
    if kind == "bits":
        return value * math.log(2)
    return -math.log(value) if kind == "probability" else math.log(value)


def _working(inputs: LossInputs, losses: list[float]) -> Working:
    working = Working()
    codes = {"probability": "-log({})", "nll": "{} * 1", "bits": "{} * log(2)", "perplexity": "log({})"}
    typed = numbers("values", inputs.values, most=200)
    for i, value in enumerate(typed[:8]):
        working.given(**{f"value_{i + 1}": value})
        label = f"Loss of token {i + 1}" if len(losses) > 1 else "Loss of the token"
        working.step(f"loss_{i + 1}", label, codes[inputs.given_as].format(f"value_{i + 1}"), "nats")
    if len(losses) == 1:
        working.step("nll", "Mean loss", "loss_1 / 1", "nats")
    else:
        working.given(sum_of_losses=math.fsum(losses), count=len(losses))
        working.step("nll", "Mean loss", "sum_of_losses / count", "nats")
    working.step("perplexity", "Perplexity", "exp(nll)", "equally likely tokens")
    working.step("bits", "In bits", "nll / log(2)", "bits")
    working.given(tokens=inputs.tokens, documents=inputs.documents, vocabulary=inputs.vocabulary)
    working.step("predictions", "Predictions in one pass over the text", "tokens - documents", "predictions")
    working.step("uniform_nll", "Loss of a model that knows nothing", "log(vocabulary)", "nats")
    return working


def _warnings(inputs: LossInputs, losses: list[float], mean: float) -> tuple[str, ...]:
    said = []
    if mean > math.log(inputs.vocabulary):
        said.append("This is worse than guessing every token of the vocabulary with equal chance.")
    if len(losses) > 1:
        said.append(
            "The mean is taken over losses, so perplexity is the geometric mean of 1/p, not 1 over the mean p."
        )
    if len(losses) > 8:
        said.append("The working shows the first eight losses; all of them are in the table.")
    said.append(
        "Perplexities compare only between models with the same tokenizer; bits per byte compare across them."
    )
    return tuple(said)


def _curve(losses: list[float]) -> Chart:
    lowest = min(0.005, math.exp(-max(losses)) if max(losses) < 6 else 0.005)
    xs = sorted({lowest, *(i / 40 for i in range(1, 41)), math.exp(-losses[0])})
    points = tuple((x, max(0.0, -math.log(x))) for x in xs if x >= 0.002)
    now = math.exp(-losses[0])
    return Chart(
        "line",
        "Loss by the probability of the right token",
        "probability",
        "loss",
        (Series("loss", points),),
        "nats",
        now=now if now >= 0.002 else None,
    )


def _table(losses: list[float]) -> Table:
    rows = tuple((i + 1, math.exp(-x), x, x / math.log(2), math.exp(x)) for i, x in enumerate(losses))
    return Table("Each token", ("token", "probability", "loss (nats)", "bits", "perplexity"), rows)


def _landmarks(vocabulary: int) -> Table:
    rows = tuple(
        (p, -math.log(p), -math.log2(p), 1 / p) for p in (0.9, 0.5, 0.1, 0.01, 0.001, 1 / vocabulary)
    )
    return Table("Worth knowing by heart", ("probability", "loss (nats)", "bits", "perplexity"), rows)


CALCULATOR = Calculator(
    slug="loss",
    title="Loss and perplexity",
    summary="Probability, loss, bits and perplexity of predicted tokens, each from any other.",
    inputs=LossInputs,
    compute=loss,
    formula="-log(probability)",
    formula_name="loss",
    meaning=(
        "Training lowers the negative logarithm of the probability given to the token that really came next. 0.5 costs "
        "0.69 and 0.01 costs 4.6: confident mistakes are what hurts. Perplexity turns the mean back into a number of "
        "equally likely tokens, and a causal mask lets one pass over n tokens train n − 1 predictions."
    ),
    usual_mistake=(
        "Averaging probabilities instead of losses, or comparing perplexities of models with different tokenizers: "
        "a coarser vocabulary has fewer, harder predictions for the same text."
    ),
    sources=("By definition; bits are nats over ln 2",),
    presets=(
        Preset("a coin flip", "values=0.5"),
        Preset("a confident mistake", "values=0.01"),
        Preset("five tokens", "values=0.9, 0.6, 0.5, 0.05, 0.8"),
        Preset("perplexity 10", "values=10&given_as=perplexity"),
    ),
)
