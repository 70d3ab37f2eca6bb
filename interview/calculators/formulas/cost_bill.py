"""What a bill is made of: tokens by what they are billed as, prices in force, and the total.

Two ways of counting exist. Inclusive (OpenAI, Gemini): input tokens include the cached ones, which are taken out before
pricing. Separate (Anthropic): input, cache reads and cache writes are three counts. Each token is billed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from interview.calculators.formulas.parameters import choice, real, refuse, whole
from interview.calculators.formulas.prices import FOUR, OWN, Price, price_list

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


def exact(value: float) -> Fraction:
    """The number as it was typed, not as a float holds it."""
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
    found = {name: exact(base[name] if typed[name] is None else typed[name]) for name in FOUR}
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
    return tokens / MILLION * (1 - exact(inputs.batch_discount)) + inputs.tool_calls * exact(inputs.tool_usd)
