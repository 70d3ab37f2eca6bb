"""Cost of a task that succeeded: attempts, retries, review and what a failure costs, model by model; and routing.

With failure rate f and at most r retries: attempts (1 - f^(r+1)) / (1 - f), success 1 - f^(r+1). Cost per success is
all money spent over tasks that succeeded.
"""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.lists import number
from interview.calculators.formulas.parameters import real, refuse, text, visible, whole
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

MOST = 12
DEFAULT = "small, 0.15, 0.6, 80\nlarge, 2.5, 10, 97"


@dataclass(frozen=True, slots=True)
class SelectionInputs:
    """Models with price and success rate, and what a task and its failures cost."""

    models: str = text(
        DEFAULT,
        "Models",
        longest=3000,
        rows=4,
        hint="name, USD per million in, USD per million out, success in %; one a line",
    )
    input_tokens: int = whole(2000, "Prompt", unit="tokens", low=0, high=10**9)
    output_tokens: int = whole(400, "Answer", unit="tokens", low=0, high=10**9)
    retries: int = whole(1, "Retries after a failure", low=0, high=100)
    review_cost: float = real(0.0, "Checking one answer", unit="USD", high=1e6)
    failure_cost: float = real(
        0.05,
        "A task that fails in the end",
        unit="USD",
        high=1e9,
        hint="a person does it, or a customer leaves",
    )
    tasks: int = whole(10_000, "Tasks a month", high=10**12)
    caught: float = real(
        1.0,
        "Failures noticed",
        unit="of all",
        high=1.0,
        group="Routing",
        hint="only these are retried or sent on",
    )


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model of the list."""

    name: str
    attempt: float
    success: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a task costs and how often it succeeds."""

    attempts: float
    success: float
    cost: float

    @property
    def per_success(self) -> float | None:
        """USD per task that succeeded; None where none does."""
        return self.cost / self.success if self.success > 0 else None


def outlook(candidate: Candidate, inputs: SelectionInputs) -> Outlook:
    """One model with retries. An unnoticed failure is never retried."""
    failure = 1 - candidate.success
    again = failure * inputs.caught
    attempts = sum(again**i for i in range(inputs.retries + 1))
    success = candidate.success * attempts
    cost = attempts * (candidate.attempt + inputs.review_cost) + (1 - success) * inputs.failure_cost
    return Outlook(attempts, min(1.0, success), cost)


def routed(small: Candidate, large: Candidate, inputs: SelectionInputs) -> Outlook:
    """The small model once; what is noticed to have failed goes to the large one with its retries."""
    failure = 1 - small.success
    sent = failure * inputs.caught
    rest = outlook(large, inputs)
    success = small.success + sent * rest.success
    spent = small.attempt + inputs.review_cost + sent * (rest.attempts * (large.attempt + inputs.review_cost))
    return Outlook(1 + sent * rest.attempts, success, spent + (1 - success) * inputs.failure_cost)


def selection(inputs: SelectionInputs) -> Result:
    """Cost per success of each model and of the best route. Raises InputErrors for an unreadable list."""
    candidates = _candidates(inputs)
    rows = [(c.name, outlook(c, inputs)) for c in candidates]
    if len(candidates) > 1:
        cheap, good = _ends(candidates)
        rows.append((f"{cheap.name}, then {good.name}", routed(cheap, good, inputs)))
    ranked = [(name, o) for name, o in rows if o.per_success is not None]
    if not ranked:
        raise refuse("models", "holds no model that ever succeeds")
    best_name, best = min(ranked, key=lambda r: r[1].per_success or 0.0)
    working = _working(candidates[0], inputs)
    return Result(
        headline=Headline(
            f"${number_text(best.per_success or 0.0, 4)}",
            "per success",
            visible(best_name, 40),
            f"{number_text(100 * best.success, 4)}% succeed",
        ),
        results=_results(rows, best, candidates, inputs),
        steps=tuple(working.steps),
        warnings=_warnings(rows, best_name, candidates, inputs),
        charts=(_bars(rows), _break_even(candidates, inputs)),
        tables=(_table(rows, inputs),),
        program=program(f"Cost per success: {candidates[0].name}", working, "usd_per_success"),
    )


def _candidates(inputs: SelectionInputs) -> list[Candidate]:
    lines = [line for line in inputs.models.split("\n") if line.strip()]
    if not lines or len(lines) > MOST:
        raise refuse("models", f"needs 1 to {MOST} lines: name, USD in, USD out, success in %")
    found = [_candidate(line, inputs) for line in lines]
    if len({c.name for c in found}) < len(found):
        raise refuse("models", "names a model twice")
    return found


def _candidate(line: str, inputs: SelectionInputs) -> Candidate:
    cells = [c.strip() for c in line.split(",")]
    if len(cells) != 4 or not cells[0]:
        raise refuse("models", f"“{visible(line)}” is not: name, USD in, USD out, success in %")
    price_in, price_out, success = (number("models", c.rstrip("%")) for c in cells[1:])
    if not (0 <= price_in <= 1e9 and 0 <= price_out <= 1e9 and 0 <= success <= 100):
        raise refuse("models", f"“{visible(line)}”: prices are 0 or more and success is from 0 to 100 %")
    attempt = (inputs.input_tokens * price_in + inputs.output_tokens * price_out) / 1e6
    return Candidate(visible(cells[0], 40), attempt, success / 100)


def _ends(candidates: list[Candidate]) -> tuple[Candidate, Candidate]:
    """The cheapest attempt, and the one that succeeds most (the cheaper of equals)."""
    cheap = min(candidates, key=lambda c: c.attempt)
    others = [c for c in candidates if c is not cheap]
    return cheap, max(others, key=lambda c: (c.success, -c.attempt))


def _working(first: Candidate, inputs: SelectionInputs) -> Working:
    working = Working()
    working.given(
        attempt_usd=first.attempt, success_rate=first.success, retries=inputs.retries, caught=inputs.caught
    )
    working.given(review_usd=inputs.review_cost, failure_usd=inputs.failure_cost)
    name = first.name
    working.step("retried", f"{name}: share of attempts tried again", "(1 - success_rate) * caught", "share")
    code = (
        "(1 - retried ** (retries + 1)) / (1 - retried)"
        if (1 - first.success) * inputs.caught < 1
        else "retries + 1"
    )
    working.step("attempts", f"{name}: attempts a task", code, "attempts")
    working.step("succeeded", f"{name}: tasks that succeed", "min(1, success_rate * attempts)", "share")
    working.step(
        "usd_per_task",
        f"{name}: spent a task",
        "attempts * (attempt_usd + review_usd) + (1 - succeeded) * failure_usd",
        "USD",
    )
    if first.success > 0:
        working.step("usd_per_success", f"{name}: spent per success", "usd_per_task / succeeded", "USD")
    else:
        working.step("usd_per_success", f"{name}: never succeeds; spent a task", "usd_per_task * 1", "USD")
    return working


def _results(
    rows: list[tuple[str, Outlook]], best: Outlook, candidates: list[Candidate], inputs: SelectionInputs
) -> dict[str, Value]:
    results: dict[str, Value] = {
        "usd_per_success": best.per_success or 0.0,
        "success_rate": best.success,
        "usd_per_month": best.cost * inputs.tasks,
    }
    for name, out in rows:
        if out.per_success is not None:
            results[f"usd_per_success[{name}]"] = out.per_success
        results[f"usd_per_task[{name}]"] = out.cost
    if len(candidates) > 1:
        point = break_even(*_ends(candidates), inputs)
        if point is not None:
            results["break_even_success_of_the_cheaper"] = point
    return results


def break_even(cheap: Candidate, good: Candidate, inputs: SelectionInputs) -> float | None:
    """Success rate at which the cheaper model costs as much per success as the better; None where it never does."""
    target = outlook(good, inputs).per_success
    if target is None:
        return None
    low, high = 1e-9, 1.0
    at_best = outlook(Candidate("", cheap.attempt, high), inputs).per_success
    if at_best is None or at_best > target:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        value = outlook(Candidate("", cheap.attempt, middle), inputs).per_success
        low, high = (middle, high) if value is None or value > target else (low, middle)
    return high


def _warnings(
    rows: list[tuple[str, Outlook]], best_name: str, candidates: list[Candidate], inputs: SelectionInputs
) -> tuple[str, ...]:
    said = []
    if len(candidates) > 1:
        cheap, good = _ends(candidates)
        point = break_even(cheap, good, inputs)
        if point is not None:
            side = "above" if cheap.success >= point else "below"
            said.append(
                f"{cheap.name} breaks even with {good.name} at {number_text(100 * point, 4)}% success; it is {side} that."
            )
        if cheap.name != best_name.partition(",")[0]:
            said.append(f"{cheap.name} is the cheapest an attempt and not the cheapest per success.")
    if inputs.caught == 1:
        said.append(
            "Every failure is taken as noticed. If a wrong answer looks right, nobody retries it: lower that share."
        )
    return tuple(said)


def _bars(rows: list[tuple[str, Outlook]]) -> Chart:
    shown = [(name, out.per_success) for name, out in rows if out.per_success is not None]
    points = tuple((float(i), float(v)) for i, (_, v) in enumerate(shown))
    best = min(range(len(shown)), key=lambda i: shown[i][1])
    return Chart(
        "bars",
        "USD per success",
        "model",
        "cost",
        (Series("cost", points),),
        "USD",
        labels=tuple(n for n, _ in shown),
        shown=best,
    )


def _break_even(candidates: list[Candidate], inputs: SelectionInputs) -> Chart:
    """Cost per success of the first model by its success rate, against the others as they are."""
    first = candidates[0]
    rates = sorted({*(i / 40 for i in range(4, 41)), max(0.1, first.success)})
    curve = tuple(
        (100 * r, outlook(Candidate("", first.attempt, r), inputs).per_success or 0.0) for r in rates
    )
    series = [Series(first.name, curve)]
    for other in candidates[1:3]:
        level = outlook(other, inputs).per_success
        if level is not None:
            series.append(Series(other.name, tuple((100 * r, level) for r in (rates[0], rates[-1]))))
    return Chart(
        "line",
        f"Break-even: success of {first.name}",
        "% success",
        "USD per success",
        tuple(series),
        "USD",
        now=100 * max(0.1, first.success),
    )


def _table(rows: list[tuple[str, Outlook]], inputs: SelectionInputs) -> Table:
    shown = tuple(
        (
            name,
            round(o.attempts, 4),
            round(100 * o.success, 3),
            o.cost,
            o.per_success if o.per_success is not None else "never",
            round(o.cost * inputs.tasks, 2),
        )
        for name, o in rows
    )
    columns = ("model or route", "attempts", "success (%)", "USD a task", "USD per success", "USD a month")
    return Table("Side by side", columns, shown)
