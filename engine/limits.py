"""What the loop may use, and how much of a prompt it takes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from engine.arranged import arranges_bf16
from engine.linear import INT4_ROWS

T = TypeVar("T")


def _alone() -> int:
    """512 tokens take half a second with bf16 products; without them four times as long, and a cancel waits for it."""
    return 512 if arranges_bf16() else 128


@dataclass(frozen=True, slots=True)
class Limits:
    """What the loop may use.

    `chunk` prompt tokens are computed in one step while others decode, `chunk_alone` while nobody does; pieces of a
    prompt end at multiples of `chunk`.
    """

    kv_bytes: int = 512 * 2**20
    prefix_bytes: int = 192 * 2**20
    max_batch: int = 16
    chunk: int = 128
    chunk_alone: int = field(default_factory=_alone)
    max_rows: int = INT4_ROWS


def piece(left: int, room: int, chunk: int) -> int:
    """How many of `left` prompt tokens to compute now.

    A cut falls on the end of a chunk. So does one before a last few rows, which other kernels compute: what a prompt
    gives doesn't depend on how much of it another request has already left in the prefix cache.
    """
    whole = min(left, room) // chunk * chunk
    rest = left - whole
    return left if left <= room and (whole == 0 or rest > INT4_ROWS) else whole


def groups(wanted: Sequence[tuple[T, list[int]]], max_rows: int) -> list[list[tuple[T, list[int]]]]:
    """Splits a step so that no forward pass has more rows than the decoding kernel is meant for.

    Each of (request, draft) takes a row for its last token and one for each drafted.
    """
    found: list[list[tuple[T, list[int]]]] = []
    rows = max_rows + 1
    for item, draft in wanted:
        if rows + 1 + len(draft) > max_rows:
            found.append([])
            rows = 0
        found[-1].append((item, draft))
        rows += 1 + len(draft)
    return found
