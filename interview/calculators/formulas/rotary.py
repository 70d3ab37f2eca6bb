"""How fast each pair of a rotary head turns, and what scaling makes of it.

Pair i of a head of width d turns by position x base^(-2i/d) (Su et al., arXiv 2104.09864). Linear scaling divides
positions by the factor (arXiv 2306.15595); NTK-aware scaling raises the base to base x factor^(d/(d-2)), dynamic NTK by
the length so far. YaRN interpolates slow pairs only (arXiv 2309.00071): between 32 turns over the old context and 1 its
paper ramps over the turns, and transformers, vLLM and llama.cpp over the number of the pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

FAST_TURNS, SLOW_TURNS = 32, 1
# The width of a ramp whose ends meet.
FLAT = 0.001


@dataclass(frozen=True, slots=True)
class Stretch:
    """How frequencies are scaled: the way, its factor, the trained context, the length so far and YaRN's ramp."""

    way: str = "none"
    factor: float = 1.0
    context: int = 1
    length: int = 1
    ramp: str = "pair"


def frequencies(head_dim: int, base: float, by: Stretch) -> list[float]:
    """Radians a token for every pair, after scaling."""
    if head_dim > 2 and by.way in ("ntk", "dynamic"):
        base = base * raised_by(by) ** (head_dim / (head_dim - 2))
    plain = [base ** (-2 * i / head_dim) for i in range(head_dim // 2)]
    if by.way == "linear":
        return [w / by.factor for w in plain]
    if by.way == "yarn":
        shares = map(_kept_by_turns(by), plain) if by.ramp == "turns" else _kept_by_pair(head_dim, base, by)
        return [w * (keep + (1 - keep) / by.factor) for w, keep in zip(plain, shares, strict=True)]
    return plain


def raised_by(by: Stretch) -> float:
    """What NTK raises the base with: the factor, or as much of it as the length so far asks for."""
    if by.way == "ntk":
        return by.factor
    return by.factor * max(by.length, by.context) / by.context - (by.factor - 1)


def _kept_by_turns(by: Stretch) -> Callable[[float], float]:
    """YaRN's paper: keep what turns often within the trained context, interpolate what hardly turns."""

    def keep(frequency: float) -> float:
        turns = by.context * frequency / (2 * math.pi)
        return min(1.0, max(0.0, (turns - SLOW_TURNS) / (FAST_TURNS - SLOW_TURNS)))

    return keep


def _kept_by_pair(head_dim: int, base: float, by: Stretch) -> list[float]:
    """YaRN as libraries run it: the ends of the ramp are pairs, rounded outwards."""
    low, high = (
        head_dim * math.log(by.context / (turns * 2 * math.pi)) / (2 * math.log(base))
        for turns in (FAST_TURNS, SLOW_TURNS)
    )
    first, last = max(0, math.floor(low)), min(head_dim - 1, math.ceil(high))
    width = last - first or FLAT
    return [1 - min(1.0, max(0.0, (i - first) / width)) for i in range(head_dim // 2)]
