"""Sampling: what temperature, top-k, top-p, min-p and penalties do to a distribution, step by step, and in draws."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.lists import named_numbers
from interview.calculators.formulas.parameters import choice, real, refuse, text, visible, whole
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
from interview.calculators.formulas.sampling_steps import Settings, Stage, draw, stages
from interview.calculators.formulas.units import number_text

MOST = 64
FIVE_DRINKS = "tea 0.5, coffee 0.2, water 0.15, milk 0.1, sugar 0.05"
ORDERS = (
    ("temperature_first", "temperature first (transformers)"),
    ("temperature_last", "temperature last (llama.cpp)"),
)


@dataclass(frozen=True, slots=True)
class SamplingInputs:
    """A distribution, the settings to sample it with, and settings to compare with."""

    values: str = text(
        FIVE_DRINKS, "Distribution", longest=4000, rows=6, hint="name and number, one entry a line or comma"
    )
    given_as: str = choice(
        "probabilities",
        "Numbers are",
        [("probabilities", "probabilities"), ("logits", "logits")],
        segmented=True,
    )
    temperature: float = real(1.0, "Temperature", high=100.0)
    top_k: int = whole(0, "Top-k", low=0, high=10**6, hint="0 keeps all")
    top_p: float = real(1.0, "Top-p", high=1.0)
    min_p: float = real(0.0, "Min-p", high=1.0)
    order: str = choice("temperature_first", "Order", ORDERS)
    written: str = text(
        "", "Already written", longest=2000, group="Penalties", hint="name and count, such as tea 2, milk 1"
    )
    repetition_penalty: float = real(1.0, "Repetition penalty", low=0.01, high=10.0, group="Penalties")
    frequency_penalty: float = real(0.0, "Frequency penalty", low=-10.0, high=10.0, group="Penalties")
    presence_penalty: float = real(0.0, "Presence penalty", low=-10.0, high=10.0, group="Penalties")
    draws: int = whole(10_000, "Draws", low=1, high=100_000, group="Draws")
    seed: int = whole(0, "Seed", low=0, high=2**31, group="Draws")
    other_temperature: float | None = real(None, "Temperature", high=100.0, group="Beside it")
    other_top_k: int | None = whole(None, "Top-k", low=0, high=10**6, group="Beside it")
    other_top_p: float | None = real(None, "Top-p", high=1.0, group="Beside it")
    other_min_p: float | None = real(None, "Min-p", high=1.0, group="Beside it")


def sampling(inputs: SamplingInputs) -> Result:
    """The distribution that is drawn from, and what draws from it give. Raises InputErrors for an unreadable list."""
    names, logits = _logits(inputs)
    counts = _counts(inputs, names)
    settings = _settings(inputs)
    done = stages(logits, counts, settings)
    final = done[-1].probabilities
    drawn = draw(final, inputs.draws, inputs.seed)
    working = _working(names, final, done, settings)
    beside = _beside(inputs, logits, counts)
    top = max(range(len(final)), key=lambda i: final[i])
    kept = sum(p > 0 for p in final)
    return Result(
        headline=Headline(
            number_text(final[top], 4),
            f"for {visible(names[top], 24)}",
            f"{kept} of {len(names)} tokens kept",
            f"{number_text(_entropy(final), 4)} bits of entropy",
        ),
        results=_results(names, final, drawn),
        steps=tuple(working.steps),
        warnings=_warnings(inputs, logits, counts, settings),
        charts=(_bars(names, done[0], done[-1], beside),),
        tables=(_stage_table(names, done), _draw_table(names, final, drawn, inputs.draws)),
        program=program("Sampling: probability of the likeliest token", working, "top_probability"),
    )


def _logits(inputs: SamplingInputs) -> tuple[list[str], list[float]]:
    rows = named_numbers("values", inputs.values, most=MOST, unnamed="token")
    names, values = [n for n, _ in rows], [v for _, v in rows]
    if inputs.given_as == "logits":
        if max(abs(v) for v in values) > 1e4:
            raise refuse("values", "holds a logit beyond ±10 000")
        return names, values
    if min(values) <= 0:
        raise refuse("values", "holds a probability that is not above 0: leave such a token out")
    total = math.fsum(values)
    return names, [math.log(v / total) for v in values]


def _counts(inputs: SamplingInputs, names: list[str]) -> list[int]:
    if not inputs.written.strip():
        return [0] * len(names)
    said = dict(named_numbers("written", inputs.written, most=MOST))
    for name, count in said.items():
        if name not in names:
            raise refuse("written", f"“{visible(name)}” is not in the distribution")
        if not (count.is_integer() and 0 <= count <= 10**6):
            raise refuse("written", "holds a count that is not a whole number from 0 to 1 000 000")
    return [int(said.get(name, 0)) for name in names]


def _settings(inputs: SamplingInputs) -> Settings:
    return Settings(
        inputs.temperature,
        inputs.top_k,
        inputs.top_p,
        inputs.min_p,
        inputs.repetition_penalty,
        inputs.frequency_penalty,
        inputs.presence_penalty,
        inputs.order,
    )


def _beside(inputs: SamplingInputs, logits: list[float], counts: list[int]) -> Stage | None:
    others = (inputs.other_temperature, inputs.other_top_k, inputs.other_top_p, inputs.other_min_p)
    if all(o is None for o in others):
        return None
    temperature = 1.0 if inputs.other_temperature is None else inputs.other_temperature
    settings = Settings(
        temperature,
        inputs.other_top_k or 0,
        1.0 if inputs.other_top_p is None else inputs.other_top_p,
        inputs.other_min_p or 0.0,
        order=inputs.order,
    )
    return stages(logits, counts, settings)[-1]


def _entropy(probabilities: tuple[float, ...]) -> float:
    return max(0.0, -math.fsum(p * math.log2(p) for p in probabilities if p > 0))


def _results(names: list[str], final: tuple[float, ...], drawn: list[int]) -> dict[str, Value]:
    results: dict[str, Value] = {
        "top_probability": max(final),
        "kept_tokens": sum(p > 0 for p in final),
        "entropy_bits": _entropy(final),
    }
    results |= {f"p[{name}]": p for name, p in zip(names, final, strict=True)}
    return results | {f"draws[{name}]": n for name, n in zip(names, drawn, strict=True)}


def _working(names: list[str], final: tuple[float, ...], done: list[Stage], settings: Settings) -> Working:
    """From the stage before the last change to the final probability of the likeliest token."""
    working = Working()
    before = done[-2].logits if len(done) > 1 else done[-1].logits
    power = 1.0
    last = done[-1].name
    if last.startswith("temperature") and settings.temperature > 0:
        power = settings.temperature
    order = sorted((i for i, p in enumerate(final) if p > 0), key=lambda i: -final[i])
    largest = before[order[0]]
    working.given(temperature=power, largest=largest)
    parts = []
    for rank, i in enumerate(order[:8]):
        working.given(**{f"logit_{rank + 1}": before[i]})
        working.step(
            f"w_{rank + 1}",
            f"Weight of {visible(names[i], 30)}",
            f"exp((logit_{rank + 1} - largest) / temperature)",
            "of the largest",
        )
        parts.append(f"w_{rank + 1}")
    if len(order) > 8:
        rest = math.fsum(math.exp((before[i] - largest) / power) for i in order[8:])
        working.given(other_weights=rest)
        parts.append("other_weights")
    working.step("sum_of_weights", "Sum over what is kept", " + ".join(parts), "of the largest")
    working.step(
        "top_probability",
        f"Probability of {visible(names[order[0]], 30)}",
        "w_1 / sum_of_weights",
        "probability",
    )
    return working


def _warnings(
    inputs: SamplingInputs, logits: list[float], counts: list[int], settings: Settings
) -> tuple[str, ...]:
    said = []
    other_order = "temperature_last" if inputs.order == "temperature_first" else "temperature_first"
    changed = replace(settings, order=other_order)
    here = [p > 0 for p in stages(logits, counts, settings)[-1].probabilities]
    there = [p > 0 for p in stages(logits, counts, changed)[-1].probabilities]
    if here != there:
        said.append(
            f"The order matters here: with {other_order.replace('_', ' ')}, {sum(there)} tokens are kept, not {sum(here)}."
        )
    if inputs.temperature == 0:
        said.append("Temperature 0 is greedy: the draw is no longer random, and ties go to the first token.")
    if inputs.given_as == "probabilities":
        total = math.fsum(v for _, v in named_numbers("values", inputs.values, most=MOST, unnamed="token"))
        if abs(total - 1) > 1e-6:
            said.append(f"The probabilities add up to {number_text(total)}; they are divided by that.")
    return tuple(said)


def _bars(names: list[str], first: Stage, last: Stage, beside: Stage | None) -> Chart:
    series = [Series("drawn from", _points(last)), Series("before", _points(first))]
    if beside:
        series.insert(1, Series("beside it", _points(beside)))
    return Chart("bars", "The distribution", "token", "probability", tuple(series), "", labels=tuple(names))


def _points(stage: Stage) -> tuple[tuple[float, float], ...]:
    return tuple((float(i), round(p, 6)) for i, p in enumerate(stage.probabilities))


def _stage_table(names: list[str], done: list[Stage]) -> Table:
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (name, *(round(s.probabilities[i], 6) for s in done)) for i, name in enumerate(names)
    )
    return Table("Step by step", ("token", *(s.name for s in done)), rows)


def _draw_table(names: list[str], final: tuple[float, ...], drawn: list[int], draws: int) -> Table:
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (n, round(p, 6), c, round(c / draws, 6)) for n, p, c in zip(names, final, drawn, strict=True)
    )
    return Table(f"{draws} seeded draws", ("token", "probability", "drawn", "share"), rows)


CALCULATOR = Calculator(
    slug="sampling",
    title="Sampling",
    summary="What temperature, top-k, top-p and min-p leave of a distribution, and what draws from it look like.",
    inputs=SamplingInputs,
    compute=sampling,
    formula="exp(logit / temperature) / sum_over_kept",
    formula_name="probability",
    meaning=(
        "Temperature changes how far apart tokens are and never removes one. Top-k, top-p and min-p cut the tail and "
        "leave the ratios between the rest as they were. Top-p adapts: it keeps one token where the model is sure and "
        "hundreds where it is not."
    ),
    usual_mistake=(
        "Calling temperature 0 the truthful setting: it only picks the likeliest token, which can be wrong each time. "
        "The finer point is the order: filters before or after temperature keep different sets with equal settings."
    ),
    sources=(
        "Nucleus sampling: arXiv 1904.09751; min-p: arXiv 2407.01082",
        "Temperature first: github.com/huggingface/transformers/pull/8686",
    ),
    presets=(
        Preset("five drinks, temperature 0.5", "temperature=0.5"),
        Preset("five drinks, temperature 2", "temperature=2"),
        Preset("five drinks, top-p 0.9", "top_p=0.9"),
        Preset("five drinks, top-k 2", "top_k=2"),
        Preset("two orders, two answers", "values=3, 2, 1&given_as=logits&temperature=0.5&top_p=0.8"),
        Preset("hot beside cold", "temperature=0.5&other_temperature=2"),
    ),
)
