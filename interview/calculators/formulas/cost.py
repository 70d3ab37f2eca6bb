"""A bill: tokens in, cached and written, tokens out, tiers, batch discount, images and tool calls; a request and a month.

Two ways of counting exist. Inclusive (OpenAI, Gemini): input tokens include the cached ones, which are taken out before
pricing. Separate (Anthropic): input, cache reads and cache writes are three counts. Each token is billed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.parameters import choice, real, refuse, whole
from interview.calculators.formulas.prices import FOUR, OWN, Price, price_list
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

MILLION = 10**6
ACCOUNTING = (
    ("auto", "as the provider does"),
    ("inclusive", "input includes cached tokens (OpenAI, Gemini)"),
    ("separate", "cached tokens are separate (Anthropic)"),
)


def _choices() -> Iterable[tuple[str, str]]:
    yield OWN, "own prices"
    for price in price_list().prices.values():
        yield price.id, f"{price.name} ({price.id.partition('/')[0]})"


@dataclass(frozen=True, slots=True)
class CostInputs:
    """One request, how often it is made, and what a million tokens cost."""

    price_of: str = choice(OWN, "Prices of", _choices())
    input_tokens: int = whole(2000, "Input", unit="tokens", low=0, high=10**9)
    cache_read_tokens: int = whole(0, "of it read from cache", unit="tokens", low=0, high=10**9)
    cache_write_tokens: int = whole(0, "written to cache", unit="tokens", low=0, high=10**9)
    output_tokens: int = whole(
        400, "Output", unit="tokens", low=0, high=10**9, hint="reasoning tokens are output"
    )
    requests: int = whole(100_000, "Requests a month", high=10**12)
    accounting: str = choice("auto", "Counts", ACCOUNTING)
    input_usd: float | None = real(None, "Input", unit="USD per million", high=1e6, group="Prices")
    output_usd: float | None = real(None, "Output", unit="USD per million", high=1e6, group="Prices")
    cache_read_usd: float | None = real(None, "Cache read", unit="USD per million", high=1e6, group="Prices")
    cache_write_usd: float | None = real(
        None, "Cache write", unit="USD per million", high=1e6, group="Prices"
    )
    tier_start: int | None = whole(
        None,
        "Tier above",
        unit="input tokens",
        low=0,
        high=10**9,
        group="Tier",
        hint="prices the whole request",
    )
    tier_input_usd: float | None = real(
        None, "Input in the tier", unit="USD per million", high=1e6, group="Tier"
    )
    tier_output_usd: float | None = real(
        None, "Output in the tier", unit="USD per million", high=1e6, group="Tier"
    )
    tier_cache_read_usd: float | None = real(
        None, "Cache read in the tier", unit="USD per million", high=1e6, group="Tier"
    )
    tier_cache_write_usd: float | None = real(
        None, "Cache write in the tier", unit="USD per million", high=1e6, group="Tier"
    )
    batch_discount: float = real(
        0.0, "Batch discount", unit="of the price", high=1.0, group="More", hint="0.5 for batch interfaces"
    )
    images: int = whole(0, "Images", low=0, high=10**6, group="More")
    tokens_per_image: int = whole(765, "Tokens an image", low=0, high=10**7, group="More")
    tool_calls: int = whole(0, "Paid tool calls", low=0, high=10**6, group="More")
    tool_usd: float = real(0.01, "A tool call", unit="USD", high=1e6, group="More")


@dataclass(frozen=True, slots=True)
class Rates:
    """USD per million tokens in force for this request."""

    input: Fraction
    output: Fraction
    cache_read: Fraction
    cache_write: Fraction
    in_tier: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens by what they are billed as, and all input tokens together."""

    fresh: int
    read: int
    written: int
    output: int
    all_input: int


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


def accounting_of(inputs: CostInputs) -> str:
    """inclusive or separate."""
    if inputs.accounting != "auto":
        return inputs.accounting
    price = price_list().prices.get(inputs.price_of)
    return price.accounting if price else "inclusive"


def counts_of(inputs: CostInputs) -> Counts:
    """Each token once, by what it is billed as."""
    images = inputs.images * inputs.tokens_per_image
    read, written = inputs.cache_read_tokens, inputs.cache_write_tokens
    if accounting_of(inputs) == "separate":
        fresh = inputs.input_tokens + images
        return Counts(fresh, read, written, inputs.output_tokens, fresh + read + written)
    if read + written > inputs.input_tokens:
        field = "cache_read_tokens" if read >= written else "cache_write_tokens"
        raise refuse(
            field, "is more than the input it is part of; choose separate counts, or raise the input"
        )
    fresh = inputs.input_tokens - read - written + images
    return Counts(fresh, read, written, inputs.output_tokens, inputs.input_tokens + images)


def _exact(value: float) -> Fraction:
    return Fraction(repr(value))


def rates_of(inputs: CostInputs, counts: Counts) -> Rates:
    """List prices, replaced where a price is typed, in the tier the input reaches."""
    listed = price_list().prices.get(inputs.price_of)
    start = inputs.tier_start
    if start is None and listed and listed.tier:
        start = listed.tier.start
    in_tier = start is not None and counts.all_input > start
    base = _base(listed, in_tier)
    typed = {name: getattr(inputs, f"{name}_usd") for name in FOUR}
    if in_tier:
        tier = {name: getattr(inputs, f"tier_{name}_usd") for name in FOUR}
        typed |= {name: value for name, value in tier.items() if value is not None}
    found = {name: _exact(base[name] if typed[name] is None else typed[name]) for name in FOUR}
    if listed is None:
        for name in ("cache_read", "cache_write"):
            found[name] = found["input"] if typed[name] is None else found[name]
    return Rates(found["input"], found["output"], found["cache_read"], found["cache_write"], in_tier)


def _base(listed: Price | None, in_tier: bool) -> dict[str, float]:
    if listed is None:
        return {"input": 2.5, "output": 10.0, "cache_read": 2.5, "cache_write": 2.5}
    source = listed.tier if in_tier and listed.tier else listed
    return {name: getattr(source, name) for name in FOUR}


def total_of(inputs: CostInputs, counts: Counts, rates: Rates) -> Fraction:
    """USD of one request, exact."""
    tokens = counts.fresh * rates.input + counts.read * rates.cache_read + counts.written * rates.cache_write
    tokens += counts.output * rates.output
    return tokens / MILLION * (1 - _exact(inputs.batch_discount)) + inputs.tool_calls * _exact(
        inputs.tool_usd
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
        working.given(batch_discount=_exact(inputs.batch_discount))
        code = f"({code}) * (1 - batch_discount)"
    if inputs.tool_calls:
        working.given(tool_calls=inputs.tool_calls, tool_price=_exact(inputs.tool_usd))
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
    keep = 1 - _exact(inputs.batch_discount)
    shown = [
        ("input in full", counts.fresh * rates.input / MILLION * keep),
        ("cache read", counts.read * rates.cache_read / MILLION * keep),
        ("cache write", counts.written * rates.cache_write / MILLION * keep),
        ("output", counts.output * rates.output / MILLION * keep),
        ("tool calls", inputs.tool_calls * _exact(inputs.tool_usd)),
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
    points = []
    for n in lengths:
        changed = replace(inputs, output_tokens=n)
        counts = counts_of(changed)
        points.append(
            (float(n), float(total_of(changed, counts, rates_of(changed, counts)) * inputs.requests))
        )
    return Chart(
        "line",
        "A month by length of the answer",
        "output tokens",
        "cost",
        (Series("a month", tuple(points)),),
        "USD",
        now=float(inputs.output_tokens),
    )


def _wrong(inputs: CostInputs, counts: Counts, rates: Rates, request: Fraction) -> Table:
    everything = replace(counts, fresh=counts.fresh + counts.read + counts.written, read=0, written=0)
    rows = [("each token once", float(request), 1.0)]
    for name, usd in (
        ("cached tokens billed a second time as input", _twice(inputs, counts, rates)),
        ("all input at full price (cache ignored)", total_of(inputs, everything, rates)),
        (
            "input alone (output forgotten)",
            request - counts.output * rates.output / MILLION * (1 - _exact(inputs.batch_discount)),
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
        counts = counts_of(changed)
        month = total_of(changed, counts, rates_of(changed, counts)) * changed.requests
        saved = request * inputs.requests - month
        rows.append((name, round(float(month), 2), round(float(saved), 2)))
    return Table("What would save money", ("change", "USD a month", "saved (USD)"), tuple(rows))


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
