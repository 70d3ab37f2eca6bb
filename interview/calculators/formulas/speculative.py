"""Speculative decoding: tokens a target pass and speed-up from acceptance rate, draft length and cost ratio.

Leviathan, Kalman, Matias, arXiv 2211.17192: with acceptance a and draft length g, one pass of the target gives
(1 - a^(g+1)) / (1 - a) tokens; the speed-up is that over g c + 1, with c the cost of a draft token against a target pass.
The 1 holds while memory binds: past the critical batch a pass costs as many plain steps as its tokens take longer.
"""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.parameters import real, whole
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

LONGEST = 64
PASS_COST = "max(1, batch * (draft + 1) / critical_batch) / max(1, batch / critical_batch)"


@dataclass(frozen=True, slots=True)
class SpeculativeInputs:
    """How good and how cheap the draft is."""

    acceptance: float = real(0.8, "Acceptance rate", unit="a token", high=1.0)
    draft: int = whole(5, "Draft length", unit="tokens", low=0, high=LONGEST, slider=True)
    cost_ratio: float = real(0.05, "A draft token costs", unit="target passes", high=100.0)
    overhead: float = real(
        0.0,
        "Overhead a round",
        unit="target passes",
        high=100.0,
        group="Details",
        hint="sampling, checking, launches",
    )
    target_ms: float = real(30.0, "A target pass takes", unit="ms", low=1e-6, high=1e9)
    batch: int = whole(1, "Sequences at once", high=10**5, group="Details")
    critical_batch: int = whole(
        300, "Critical batch", high=10**6, group="Details", hint="tokens a pass until compute binds"
    )


def expected_tokens(acceptance: float, draft: int) -> float:
    """Tokens one round gives, the target's own included."""
    return sum(acceptance**i for i in range(draft + 1))


def speed_up(inputs: SpeculativeInputs, draft: int) -> float:
    """Tokens a unit of time against plain decoding."""
    return expected_tokens(inputs.acceptance, draft) / round_cost(inputs, draft)


def pass_cost(inputs: SpeculativeInputs, draft: int) -> float:
    """A pass that checks `draft` tokens of every sequence, in plain steps of the same batch."""
    plain = max(1.0, inputs.batch / inputs.critical_batch)
    return max(1.0, inputs.batch * (draft + 1) / inputs.critical_batch) / plain


def round_cost(inputs: SpeculativeInputs, draft: int) -> float:
    """Drafting, checking and the overhead, in plain steps."""
    return draft * inputs.cost_ratio + pass_cost(inputs, draft) + inputs.overhead


def best_draft(inputs: SpeculativeInputs) -> int:
    """The draft length with the largest speed-up, the shortest where several are equal; 0 means don't draft."""
    return max(range(LONGEST + 1), key=lambda g: (speed_up(inputs, g) if g else 1.0, -g))


def speculative(inputs: SpeculativeInputs) -> Result:
    """Expected tokens a pass, speed-up and the best draft length."""
    working = _working(inputs)
    gain = float(working.names["speed_up"])
    best = best_draft(inputs)
    tokens = expected_tokens(inputs.acceptance, inputs.draft)
    results: dict[str, Value] = {
        "speed_up": gain,
        "tokens_per_target_pass": tokens,
        "seconds_per_token": inputs.target_ms / 1e3 / gain,
        "tokens_per_second": gain * 1e3 / inputs.target_ms,
        "best_draft_length": best,
        "best_speed_up": speed_up(inputs, best) if best else 1.0,
        "wasted_draft_tokens": inputs.draft - (tokens - 1),
    }
    return Result(
        headline=Headline(
            number_text(gain, 4),
            "× faster",
            f"{number_text(tokens, 4)} tokens a target pass",
            f"best draft length {best}",
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(inputs, gain, best),
        charts=(_by_length(inputs), _by_acceptance(inputs)),
        tables=(_lengths(inputs),),
        program=program("Speculative decoding", working, "speed_up"),
    )


def _working(inputs: SpeculativeInputs) -> Working:
    working = Working()
    working.given(
        acceptance=inputs.acceptance,
        draft=inputs.draft,
        cost_ratio=inputs.cost_ratio,
        overhead=inputs.overhead,
    )
    geometric = "(1 - acceptance ** (draft + 1)) / (1 - acceptance)"
    code = geometric if inputs.acceptance < 1 - 1e-9 else "draft + 1"
    working.step("tokens_per_pass", "Tokens one round gives", code, "tokens")
    working.given(batch=inputs.batch, critical_batch=inputs.critical_batch)
    working.step("pass_cost", "Checking, against a plain step", PASS_COST, "target passes")
    code = "draft * cost_ratio + pass_cost + overhead"
    working.step("round_cost", "What a round costs", code, "target passes")
    working.step("speed_up", "Speed-up", "tokens_per_pass / round_cost", "times")
    working.given(target_ms=inputs.target_ms)
    working.step("ms_per_token", "Time a token", "target_ms / speed_up", "ms")
    return working


def _warnings(inputs: SpeculativeInputs, gain: float, best: int) -> tuple[str, ...]:
    said = []
    if gain < 1:
        said.append(
            "This is slower than not drafting at all: the draft is too long, too costly or too seldom right."
        )
    if best and best != inputs.draft:
        said.append(
            f"A draft of {best} tokens is the fastest here: {number_text(speed_up(inputs, best), 4)} times."
        )
    if inputs.batch * (inputs.draft + 1) > inputs.critical_batch:
        said.append(
            f"Checking {inputs.batch * (inputs.draft + 1)} tokens a pass exceeds the critical batch: the pass is bound by "
            f"compute and costs {number_text(pass_cost(inputs, inputs.draft), 4)} plain steps."
        )
    said.append(
        "Each acceptance is taken as independent; real drafts fail in runs, so measure on your own traffic."
    )
    return tuple(said)


def _by_length(inputs: SpeculativeInputs) -> Chart:
    longest = max(12, inputs.draft + 4)
    gains = tuple((float(g), speed_up(inputs, g)) for g in range(longest + 1))
    tokens = tuple((float(g), expected_tokens(inputs.acceptance, g)) for g in range(longest + 1))
    series = (Series("speed-up", gains), Series("tokens a pass", tokens))
    return Chart(
        "line", "Speed-up by draft length", "drafted tokens", "times", series, "", now=float(inputs.draft)
    )


def _by_acceptance(inputs: SpeculativeInputs) -> Chart:
    rates = sorted({*(i / 20 for i in range(21)), inputs.acceptance})
    points = tuple((a, expected_tokens(a, inputs.draft) / round_cost(inputs, inputs.draft)) for a in rates)
    return Chart(
        "line",
        "Speed-up by acceptance rate",
        "acceptance",
        "times",
        (Series("speed-up", points),),
        "",
        now=inputs.acceptance,
    )


def _lengths(inputs: SpeculativeInputs) -> Table:
    rows = tuple(
        (
            g,
            expected_tokens(inputs.acceptance, g),
            speed_up(inputs, g),
            inputs.target_ms / speed_up(inputs, g),
        )
        for g in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
    )
    return Table("Draft lengths side by side", ("draft", "tokens a pass", "speed-up", "ms a token"), rows)


CALCULATOR = Calculator(
    slug="speculative",
    title="Speculative decoding",
    summary="Tokens a target pass, speed-up, and the best draft length for how often the draft is right.",
    inputs=SpeculativeInputs,
    compute=speculative,
    formula=f"((1 - acceptance ** (draft + 1)) / (1 - acceptance)) / (draft * cost_ratio + {PASS_COST} + overhead)",
    formula_name="speed-up",
    meaning=(
        "A small model guesses a few tokens and the large one checks them in a single pass, which costs about as much "
        "as writing one token because decoding is bound by memory. The output distribution is unchanged; only time "
        "is bought, with extra compute: past the critical batch each checked token costs. Longer drafts pay off only while most guesses are right."
    ),
    usual_mistake=(
        "Multiplying draft length by acceptance rate. The first wrong guess ends the run, so the expectation is a "
        "geometric sum: at 0.8 and five drafts it is 3.69 tokens a pass, not 4 or 5."
    ),
    sources=("Leviathan, Kalman, Matias: arXiv 2211.17192, equation 1 and theorem 3.8",),
    presets=(
        Preset("a good draft", "acceptance=0.8&draft=5&cost_ratio=0.05"),
        Preset("prompt lookup, free drafts", "acceptance=0.6&draft=8&cost_ratio=0"),
        Preset("a draft that hardly helps", "acceptance=0.4&draft=6&cost_ratio=0.2"),
    ),
)
