"""Rotary positions: angles, what a query and key see of their distance, and how scaling stretches it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.parameters import choice, real, refuse, whole
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
from interview.calculators.formulas.rotary import FAST_TURNS, FLAT, SLOW_TURNS, Stretch, frequencies
from interview.calculators.formulas.units import grouped, number_text

SAMPLES = 120


@dataclass(frozen=True, slots=True)
class PositionInputs:
    """A head, a base, two positions and a way to stretch."""

    head_dim: int = whole(128, "Head dimension", low=2, high=4096)
    base: float = real(10_000.0, "Base (rope theta)", low=1.000001, high=1e12)
    query: int = whole(507, "Query position", low=0, high=10**8)
    key: int = whole(504, "Key position", low=0, high=10**8)
    pair: int = whole(0, "Pair", low=0, high=2047, hint="0 turns fastest")
    scaling: str = choice(
        "none",
        "Scaling",
        [
            ("none", "none"),
            ("linear", "linear"),
            ("ntk", "NTK"),
            ("dynamic", "dynamic NTK"),
            ("yarn", "YaRN"),
        ],
    )
    factor: float = real(4.0, "Factor", low=1.0, high=1e4, group="Scaling")
    context: int = whole(4096, "Trained context", unit="tokens", high=10**8, group="Scaling")
    ramp: str = choice(
        "pair",
        "YaRN ramps over",
        [("pair", "pairs (transformers, vLLM, llama.cpp)"), ("turns", "turns (the paper)")],
        group="Scaling",
    )
    reach: int = whole(512, "Distances drawn", unit="tokens", low=8, high=10**7, group="Picture")


def score(distance: float, turning: list[float]) -> float:
    """q . k over head_dim / 2 for equal unit pairs `distance` apart: 1 at the same place."""
    return math.fsum(map(math.cos, [distance * w for w in turning])) / len(turning)


def stretch_of(inputs: PositionInputs) -> Stretch:
    """The scaling asked for; the length so far is the further position's."""
    length = max(inputs.query, inputs.key) + 1
    return Stretch(inputs.scaling, inputs.factor, inputs.context, length, inputs.ramp)


def positions(inputs: PositionInputs) -> Result:
    """Angles and scores. Raises InputErrors for an odd head or a pair it does not have."""
    if inputs.head_dim % 2:
        raise refuse("head_dim", "is odd: rotary positions turn pairs, so it must be even")
    if inputs.pair >= inputs.head_dim // 2:
        raise refuse("pair", f"is beyond the last pair, {inputs.head_dim // 2 - 1}")
    turning = frequencies(inputs.head_dim, inputs.base, stretch_of(inputs))
    distance = inputs.query - inputs.key
    working = _working(inputs, turning)
    value = score(distance, turning)
    results: dict[str, Value] = {
        "score": value,
        "score_moved_by_1000": score((inputs.query + 1000) - (inputs.key + 1000), turning),
        "distance_tokens": distance,
        "frequency_radians_per_token": turning[inputs.pair],
        "wavelength_tokens": 2 * math.pi / turning[inputs.pair],
        "longest_wavelength_tokens": 2 * math.pi / turning[-1],
        "angle_radians": float(working.names["angle_between"]),
        "pairs_that_never_turn_round": sum(2 * math.pi / w > inputs.context for w in turning),
    }
    if inputs.scaling == "yarn":
        results["attention_temperature"] = 0.1 * math.log(inputs.factor) + 1
    return Result(
        headline=Headline(
            number_text(value, 4),
            "of full score",
            f"{grouped(abs(distance))} tokens apart",
            f"pair {inputs.pair} turns once in {number_text(2 * math.pi / turning[inputs.pair], 5)} tokens",
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(inputs, turning),
        charts=(_by_distance(inputs, turning), _heat(inputs, turning)),
        tables=(_pairs(inputs, turning),),
        program=program("Rotary positions: the angle between query and key", working, "angle_between"),
    )


def _working(inputs: PositionInputs, turning: list[float]) -> Working:
    working = Working()
    working.given(base=inputs.base, pair=inputs.pair, head_dim=inputs.head_dim, factor=inputs.factor)
    code = "base"
    if inputs.scaling in ("ntk", "dynamic") and inputs.head_dim > 2:
        code = _ntk_step(working, inputs)
    working.step("frequency", "Turn a token", f"{code} ** (-2 * pair / head_dim)", "radians")
    name = "frequency"
    if inputs.scaling == "linear":
        working.step("scaled", "After linear scaling", "frequency / factor", "radians")
        name = "scaled"
    if inputs.scaling == "yarn":
        name = _yarn_steps(working, inputs)
    working.given(query=inputs.query, key=inputs.key)
    working.step("query_angle", "The query is turned by", f"query * {name}", "radians")
    working.step("key_angle", "The key is turned by", f"key * {name}", "radians")
    working.step("angle_between", "Between them: the distance alone", f"(query - key) * {name}", "radians")
    return working


def _ntk_step(working: Working, inputs: PositionInputs) -> str:
    raised = "factor"
    if inputs.scaling == "dynamic":
        working.given(context=inputs.context, length=max(inputs.query, inputs.key) + 1)
        raised = "(factor * max(length, context) / context - (factor - 1))"
    code = f"base * {raised} ** (head_dim / (head_dim - 2))"
    working.step("new_base", "Base after NTK scaling", code, "base")
    return "new_base"


def _yarn_steps(working: Working, inputs: PositionInputs) -> str:
    working.given(context=inputs.context, two_pi=2 * math.pi, fast=FAST_TURNS, slow=SLOW_TURNS)
    if inputs.ramp == "turns":
        working.step("turns", "Turns within the trained context", "context * frequency / two_pi", "turns")
        code = "min(1, max(0, (turns - slow) / (fast - slow)))"
    else:
        end = "head_dim * log(context / ({} * two_pi)) / (2 * log(base))"
        code = f"max(0, floor({end.format('fast')}))"
        working.step("first", "The ramp begins: 32 turns within the trained context", code, "pair")
        code = f"min(head_dim - 1, ceil({end.format('slow')}))"
        working.step("last", "and ends: one turn", code, "pair")
        working.given(flat=0 if working.names["first"] != working.names["last"] else FLAT)
        code = "1 - min(1, max(0, (pair - first) / (last - first + flat)))"
    working.step("keep", "Share kept as it is", code, "share")
    working.step("scaled", "After YaRN", "frequency * (keep + (1 - keep) / factor)", "radians")
    return "scaled"


def _warnings(inputs: PositionInputs, turning: list[float]) -> tuple[str, ...]:
    said = []
    never = sum(2 * math.pi / w > inputs.context for w in turning)
    if never:
        said.append(
            f"{never} of {len(turning)} pairs never complete a turn within {grouped(inputs.context)} tokens: longer positions are new to them."
        )
    if max(inputs.query, inputs.key) >= inputs.context and inputs.scaling == "none":
        said.append(
            "A position lies beyond the trained context and nothing is scaled: these angles were never seen in training."
        )
    if inputs.scaling == "linear":
        said.append(
            "Linear scaling blurs neighbours: one token apart turns fast pairs by less than they were trained on."
        )
    if inputs.scaling == "dynamic":
        said.append(
            "Dynamic NTK changes every angle as the text grows: keys cached before were turned by others."
        )
    said.append(
        "The score takes query and key as equal; a trained head weights its pairs, so only the shape carries over."
    )
    return tuple(said)


def _distances(inputs: PositionInputs) -> list[int]:
    asked = abs(inputs.query - inputs.key)
    step = max(1, inputs.reach // SAMPLES)
    marks = set(range(0, inputs.reach + 1, step))
    return sorted(marks | ({asked} if asked <= inputs.reach else set()))


def _by_distance(inputs: PositionInputs, turning: list[float]) -> Chart:
    marks = _distances(inputs)
    name = "rotary" if inputs.scaling == "none" else f"rotary, {inputs.scaling}"
    series = [Series(name, tuple((float(d), max(0.0, score(d, turning))) for d in marks))]
    if inputs.scaling != "none":
        plain = frequencies(inputs.head_dim, inputs.base, Stretch())
        series.append(Series("without scaling", tuple((float(d), max(0.0, score(d, plain))) for d in marks)))
    else:
        sinusoidal = frequencies(inputs.head_dim, 10_000.0, Stretch())
        series.append(Series("sinusoidal", tuple((float(d), max(0.0, score(d, sinusoidal))) for d in marks)))
    now = float(abs(inputs.query - inputs.key))
    note = "Scores below zero are drawn at zero; the table of pairs below has the wavelengths."
    return Chart(
        "line",
        "Score by distance",
        "tokens apart",
        "score",
        tuple(series),
        "",
        now=now if now <= inputs.reach else None,
        note=note,
    )


def _heat(inputs: PositionInputs, turning: list[float]) -> Chart:
    shown = sorted({round(i * (len(turning) - 1) / 7) for i in range(8)})
    marks = [0, 1, 2, 4, 8, 16, 32, 64, 128]
    rows = tuple(
        Series(f"pair {i}", tuple((float(d), (1 + math.cos(d * turning[i])) / 2) for d in marks))
        for i in shown
    )
    return Chart(
        "heat",
        "How each pair sees a distance",
        "tokens apart",
        "pair",
        rows,
        "",
        labels=tuple(str(m) for m in marks),
        note="Dark: query and key point the same way. Fast pairs tell neighbours apart, slow ones tell far from near.",
    )


def _pairs(inputs: PositionInputs, turning: list[float]) -> Table:
    shown = sorted({0, 1, 2, inputs.pair, *(round(i * (len(turning) - 1) / 8) for i in range(9))})
    rows = tuple((i, turning[i], 2 * math.pi / turning[i]) for i in shown if i < len(turning))
    return Table("Pairs of the head", ("pair", "radians a token", "tokens a turn"), rows)


CALCULATOR = Calculator(
    slug="positions",
    title="Rotary positions",
    summary="Angles, what query and key see of their distance, and how base and scaling stretch it.",
    inputs=PositionInputs,
    compute=positions,
    formula="(query - key) * base ** (-2 * pair / head_dim)",
    formula_name="angle",
    meaning=(
        "Attention by itself has no order. Rotary positions turn each pair of a query and a key by an angle that grows "
        "with position; in the product only the difference survives, so a head learns “three back”, not “number 507”. "
        "Fast pairs resolve neighbours, slow pairs separate near from far."
    ),
    usual_mistake=(
        "Thinking a longer context only needs a larger limit. Slow pairs never completed a turn in training, so later "
        "positions are angles they have not met; that is what raising the base or YaRN repairs."
    ),
    sources=(
        "RoPE: arXiv 2104.09864; position interpolation: arXiv 2306.15595; YaRN: arXiv 2309.00071",
        "Sinusoidal positions: arXiv 1706.03762",
    ),
    presets=(
        Preset("three tokens back", "query=507&key=504"),
        Preset("the same, elsewhere", "query=100507&key=100504&context=131072"),
        Preset("Llama 3 base 500,000", "base=500000&context=8192&reach=4096"),
        Preset("YaRN by 4", "scaling=yarn&factor=4&context=4096&query=9000&key=1000&reach=16384"),
    ),
)
