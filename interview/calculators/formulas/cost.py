"""A bill shown: tokens in, cached and written, tokens out, tiers, discount, images and tools; a request and a month."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from interview.calculators.formulas.cost_bill import (
    MILLION,
    CostInputs,
    Counts,
    Rates,
    accounting_of,
    counts_of,
    exact,
    rates_of,
    total_of,
)
from interview.calculators.formulas.prices import OWN, price_list
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
from interview.calculators.formulas.units import grouped, number_text


def cost(inputs: CostInputs) -> Result:
    """The bill for these inputs. Raises InputErrors where cached tokens exceed the input they are part of."""
    counts, rates = counts_of(inputs), None
    rates = rates_of(inputs, counts)
    working = _working(inputs, counts, rates)
    request = Fraction(working.names["usd_per_request"])
    month = float(request * inputs.requests)
    results = _results(inputs, counts, rates, request)
    return Result(
        headline=Headline(
            f"${number_text(float(request), 5)}",
            "a request",
            f"${number_text(month, 6)} a month",
            f"{grouped(inputs.requests)} requests",
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(inputs, counts, rates),
        charts=(_parts(inputs, counts, rates), _by_output(inputs)),
        tables=(_wrong(inputs, counts, rates, request), _savings(inputs, request)),
        program=program("Cost of a request", working, "usd_per_request"),
    )


def _working(inputs: CostInputs, counts: Counts, rates: Rates) -> Working:
    working = Working()
    working.given(
        input_price=rates.input,
        read_price=rates.cache_read,
        write_price=rates.cache_write,
        output_price=rates.output,
    )
    _fresh_step(working, inputs)
    working.given(million=MILLION, output_tokens=counts.output, requests=inputs.requests)
    parts = ["fresh_usd", "output_usd"]
    working.step("fresh_usd", "Input at full price", "fresh_tokens * input_price / million", "USD")
    for name, tokens, title in (
        ("read", counts.read, "Read from cache"),
        ("write", counts.written, "Written to cache"),
    ):
        if tokens:
            working.given(**{f"{name}_tokens": tokens})
            working.step(f"{name}_usd", title, f"{name}_tokens * {name}_price / million", "USD")
            parts.append(f"{name}_usd")
    working.step("output_usd", "Output", "output_tokens * output_price / million", "USD")
    code = " + ".join(parts)
    if inputs.batch_discount:
        working.given(batch_discount=exact(inputs.batch_discount))
        code = f"({code}) * (1 - batch_discount)"
    if inputs.tool_calls:
        working.given(tool_calls=inputs.tool_calls, tool_price=exact(inputs.tool_usd))
        code = f"{code} + tool_calls * tool_price"
    working.step("usd_per_request", "One request", code, "USD")
    working.step("usd_per_month", "A month", "requests * usd_per_request", "USD")
    return working


def _fresh_step(working: Working, inputs: CostInputs) -> None:
    working.given(
        input_tokens=inputs.input_tokens,
        cache_read=inputs.cache_read_tokens,
        cache_written=inputs.cache_write_tokens,
    )
    working.given(images=inputs.images, tokens_per_image=inputs.tokens_per_image)
    image = " + images * tokens_per_image" if inputs.images else ""
    if accounting_of(inputs) == "separate":
        working.step(
            "fresh_tokens",
            "Input billed in full (cached tokens are counted apart)",
            f"input_tokens * 1{image}",
            "tokens",
        )
    else:
        working.step(
            "fresh_tokens",
            "Input billed in full: cached tokens taken out",
            f"input_tokens - cache_read - cache_written{image}",
            "tokens",
        )


def _results(inputs: CostInputs, counts: Counts, rates: Rates, request: Fraction) -> dict[str, Value]:
    uncached = replace(counts, fresh=counts.fresh + counts.read + counts.written, read=0, written=0)
    shorter = replace(inputs, output_tokens=inputs.output_tokens * 3 // 4)
    return {
        "usd": float(request),
        "usd_per_request": float(request),
        "usd_per_month": float(request * inputs.requests),
        "input_tokens_billed_in_full": counts.fresh,
        "usd_per_month_saved_by_cache": float(
            (total_of(inputs, uncached, rates) - request) * inputs.requests
        ),
        "usd_per_month_saved_by_a_quarter_shorter_answer": float(
            (request - total_of(shorter, counts_of(shorter), rates)) * inputs.requests
        ),
        "usd_if_cached_tokens_are_billed_twice": float(_twice(inputs, counts, rates)),
        "in_tier": int(rates.in_tier),
    }


def _twice(inputs: CostInputs, counts: Counts, rates: Rates) -> Fraction:
    """The common mistake: cached tokens at their own price and as ordinary input too."""
    return total_of(inputs, replace(counts, fresh=counts.fresh + counts.read + counts.written), rates)


def _warnings(inputs: CostInputs, counts: Counts, rates: Rates) -> tuple[str, ...]:
    held = price_list()
    said = []
    if inputs.price_of != OWN:
        said.append(
            f"List prices as of {held.as_of} ({held.source}); providers change them, and yours may differ: type your own."
        )
    if rates.in_tier:
        said.append(
            "The input is above the tier’s start, so every token of the request has the tier’s price, not only the rest."
        )
    if counts.read or counts.written:
        said.append(
            f"Counted as {accounting_of(inputs)}: the other way of counting gives another bill for the same numbers."
        )
    if counts.written and not counts.read:
        said.append("A cache write costs more than plain input and pays off only once it is read again.")
    return tuple(said)


def _parts(inputs: CostInputs, counts: Counts, rates: Rates) -> Chart:
    keep = 1 - exact(inputs.batch_discount)
    shown = [
        ("input in full", counts.fresh * rates.input / MILLION * keep),
        ("cache read", counts.read * rates.cache_read / MILLION * keep),
        ("cache write", counts.written * rates.cache_write / MILLION * keep),
        ("output", counts.output * rates.output / MILLION * keep),
        ("tool calls", inputs.tool_calls * exact(inputs.tool_usd)),
    ]
    shown = [(name, usd) for name, usd in shown if usd] or shown[:1]
    points = tuple((float(i), float(usd)) for i, (_, usd) in enumerate(shown))
    largest = max(range(len(shown)), key=lambda i: shown[i][1])
    return Chart(
        "bars",
        "What a request is made of",
        "part",
        "cost",
        (Series("cost", points),),
        "USD",
        labels=tuple(n for n, _ in shown),
        shown=largest,
    )


def _by_output(inputs: CostInputs) -> Chart:
    top = max(2 * inputs.output_tokens, 24)
    lengths = sorted({top * i // 24 for i in range(25)} | {inputs.output_tokens})
    # The tier and every other part depend on the input alone, so the bill is a straight line.
    none, one = (_month(replace(inputs, output_tokens=n)) for n in (0, 1))
    points = [(float(n), float(none + n * (one - none))) for n in lengths]
    return Chart(
        "line",
        "A month by length of the answer",
        "output tokens",
        "cost",
        (Series("a month", tuple(points)),),
        "USD",
        now=float(inputs.output_tokens),
    )


def _month(inputs: CostInputs) -> Fraction:
    counts = counts_of(inputs)
    return total_of(inputs, counts, rates_of(inputs, counts)) * inputs.requests


def _wrong(inputs: CostInputs, counts: Counts, rates: Rates, request: Fraction) -> Table:
    everything = replace(counts, fresh=counts.fresh + counts.read + counts.written, read=0, written=0)
    rows = [("each token once", float(request), 1.0)]
    for name, usd in (
        ("cached tokens billed a second time as input", _twice(inputs, counts, rates)),
        ("all input at full price (cache ignored)", total_of(inputs, everything, rates)),
        (
            "input alone (output forgotten)",
            request - counts.output * rates.output / MILLION * (1 - exact(inputs.batch_discount)),
        ),
    ):
        if usd != request:
            rows.append((name, float(usd), round(float(usd / request), 3) if request else 0.0))
    return Table(
        "Which bill is right?", ("assumption", "USD a request", "times the right value"), tuple(rows)
    )


def _savings(inputs: CostInputs, request: Fraction) -> Table:
    rows: list[tuple[Value, ...]] = []
    for name, changed in (
        ("answers a quarter shorter", replace(inputs, output_tokens=inputs.output_tokens * 3 // 4)),
        ("half the requests", replace(inputs, requests=max(1, inputs.requests // 2))),
        (
            "through a batch interface at half price",
            replace(inputs, batch_discount=max(0.5, inputs.batch_discount)),
        ),
    ):
        month = _month(changed)
        saved = request * inputs.requests - month
        rows.append((name, round(float(month), 2), round(float(saved), 2)))
    return Table("What would save money", ("change", "USD a month", "saved (USD)"), tuple(rows))
