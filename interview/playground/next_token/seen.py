"""A distribution as the page shows it: candidates through the dials' filters, by the sampling calculator's own steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import mark_safe

from interview.calculators.formulas.result import Chart, Series
from interview.calculators.formulas.sampling_steps import Settings, stages
from interview.calculators.svg import svg
from interview.playground.next_token.form import NEUTRAL, DialForm
from interview.playground.next_token.packed import unpack
from interview.runs.models import Run

ROWS = 20


@dataclass(frozen=True)
class Row:
    """One candidate: its logit and its probability before and after each filter."""

    token_id: int
    text: str
    logit: float
    probability: float
    after: list[float]

    @property
    def kept(self) -> float:
        """What it is drawn with."""
        return self.after[-1] if self.after else self.probability


@dataclass(frozen=True)
class Distribution:
    """The likeliest candidates, what each filter left of the vocabulary, and the uncertainty before and after."""

    rows: list[Row]
    steps: list[tuple[str, int]]
    vocabulary: int
    kept: int
    entropy_bits: float
    kept_bits: float
    shown_mass: float


def shown(run: Run, given: Mapping[str, str], address: str) -> tuple[str, dict[str, Any]]:
    """The distribution for whoever has the link, under the dials of the run."""
    output = run.output or {}
    dials = DialForm({**NEUTRAL, **run.input.get("sampling", {})})
    settings = dials.settings() if dials.is_valid() else Settings()
    context = {"seen": distribution(output, settings), "norms": mark_safe(norm_chart(output))}
    return "playground/_distribution_read.html", context


def distribution(output: dict[str, Any], settings: Settings) -> Distribution:
    """What the dials leave of a stored position's logits."""
    logits = unpack(output["logits"])
    found = stages(logits, [0] * len(logits), settings)
    first, after = found[0].probabilities, found[1:]
    last = found[-1].probabilities
    rows = [
        Row(token, text, logit, first[i], [stage.probabilities[i] for stage in after])
        for i, (token, text, logit) in enumerate(output["top"][:ROWS])
    ]
    return Distribution(
        rows=rows,
        steps=[(stage.name, sum(p > 0 for p in stage.probabilities)) for stage in after],
        vocabulary=len(logits),
        kept=sum(p > 0 for p in last),
        entropy_bits=bits(first),
        kept_bits=bits(last),
        shown_mass=math.fsum(row.kept for row in rows),
    )


def bits(probabilities: tuple[float, ...]) -> float:
    """Entropy in bits."""
    return max(0.0, -math.fsum(p * math.log2(p) for p in probabilities if p > 0))


def norm_chart(output: dict[str, Any]) -> str:
    """The length of the last position's vector on its way through the layers, as a picture."""
    points = tuple((float(layer), norm) for layer, norm in enumerate(output["layer_norms"]))
    chart = Chart(
        "line",
        "Length of the last position's vector, layer by layer",
        "layers",
        "length",
        (Series("length", points),),
        now=points[-1][0],
    )
    return svg(chart, 1)
