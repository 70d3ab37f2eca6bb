"""What a memory or a pool of blocks holds, as a table: the numbers that a vLLM start-up log prints too."""

from __future__ import annotations

from collections.abc import Mapping

from interview.calculators.formulas.result import Table, Value
from interview.calculators.formulas.units import both_bytes, number_text

ROWS = (
    ("memory_bytes", "memory given, a GPU", "bytes"),
    ("tokens_that_fit", "tokens a sequence that fit, with so many sequences", "tokens"),
    ("sequences_that_fit", "sequences that fit, of this length", "sequences"),
    ("block_tokens", "a block", "tokens"),
    ("block_bytes", "a block over its layers, on one GPU", "bytes"),
    ("blocks_per_request", "a request of this length takes", "blocks"),
    ("blocks", "blocks in the pool", "blocks"),
    ("pool_bytes", "the pool", "bytes"),
    ("token_capacity", "“GPU KV cache size” in vLLM’s log", "tokens"),
    ("token_capacity_in_older_logs", "the same line in older versions", "tokens"),
    ("max_concurrency", "“Maximum concurrency” in vLLM’s log", "requests"),
)


def fits_table(results: Mapping[str, Value]) -> list[Table]:
    """One table of what is known of these; none where neither memory nor vLLM was asked for."""
    rows = tuple(
        (said, _value(results[name], unit), unit if unit != "bytes" else "")
        for name, said, unit in ROWS
        if name in results
    )
    return [Table("What fits", ("quantity", "value", "unit"), rows)] if rows else []


def _value(value: Value, unit: str) -> str:
    if isinstance(value, str):
        return value
    return both_bytes(int(value)) if unit == "bytes" else number_text(value, 4)
