"""What repeated trials say: shares with their intervals, agreement, where outputs part, noise against change."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

Z = 1.959963984540054
RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95% interval."""

    value: float
    low: float
    high: float


def wilson(successes: int, trials: int) -> Interval:
    """A share with Wilson's score interval (Wilson, JASA 1927): honest for few trials and for 0 or all."""
    if trials == 0:
        return Interval(0.0, 0.0, 1.0)
    share = successes / trials
    middle = (share + Z * Z / (2 * trials)) / (1 + Z * Z / trials)
    half = Z * math.sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials)) / (1 + Z * Z / trials)
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half))


def difference(a: tuple[int, int], b: tuple[int, int]) -> Interval:
    """Share of b minus share of a, Newcombe's interval from the two Wilson intervals (Stat. Med. 1998, method 10)."""
    left, right = wilson(*a), wilson(*b)
    gap = right.value - left.value
    low = gap - math.hypot(right.value - right.low, left.high - left.value)
    high = gap + math.hypot(right.high - right.value, left.value - left.low)
    return Interval(gap, low, high)


def resampled(values: Sequence[float], of: Callable[[Sequence[float]], float]) -> Interval:
    """A statistic with its percentile bootstrap interval (Efron 1979), the same each time it is computed."""
    dice = random.Random(0)
    drawn = sorted(of(dice.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return Interval(of(values), drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES) - 1])


def mean(values: Sequence[float]) -> float:
    """The average."""
    return math.fsum(values) / len(values)


def agreement(answers: Sequence[str]) -> float:
    """The chance that two different trials gave the same answer; 1 for a single trial."""
    n = len(answers)
    if n < 2:
        return 1.0
    same = sum(count * (count - 1) for count in Counter(answers).values())
    return same / (n * (n - 1))


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """The position of the first differing token; the shorter length when one begins the other."""
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return place
    return min(len(a), len(b))


def parts_at(outputs: Sequence[Sequence[int]]) -> int | None:
    """The first position at which the outputs are not all alike; None when they are."""
    if all(list(output) == list(outputs[0]) for output in outputs):
        return None
    return min(common_prefix(outputs[0], output) for output in outputs[1:])


def parting_points(outputs: Sequence[Sequence[int]]) -> list[int]:
    """For every pair that differs, the position of its first differing token, ascending."""
    pairs = combinations(outputs, 2)
    return sorted(common_prefix(a, b) for a, b in pairs if list(a) != list(b))


def distance(a: Sequence[str], b: Sequence[str]) -> float:
    """Total variation between two sets of answers: the probability mass that sits elsewhere, 0 to 1."""
    left, right = Counter(a), Counter(b)
    return 0.5 * sum(abs(left[x] / len(a) - right[x] / len(b)) for x in left.keys() | right.keys())


Distance = Callable[[Sequence[str], Sequence[str]], float]


def noise(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], of: Distance = distance) -> float:
    """How often shuffling who answered when gives a distance as large as the real one, summed over prompts.

    A permutation test (Fisher 1935) within each prompt: near 1 is noise, below 0.05 hardly is.
    """
    dice = random.Random(0)
    real = sum(of(a, b) for a, b in pairs)
    hits = sum(_shuffled(pairs, dice, of) >= real - 1e-9 for _ in range(RESAMPLES))
    return (hits + 1) / (RESAMPLES + 1)


def _shuffled(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]], dice: random.Random, of: Distance
) -> float:
    total = 0.0
    for a, b in pairs:
        pool = [*a, *b]
        dice.shuffle(pool)
        total += of(pool[: len(a)], pool[len(a) :])
    return total
