"""The steps between logits and a distribution to draw from, each on its own, in either order.

Temperature divides logits; top-k keeps the k likeliest; top-p the smallest set that reaches p (Holtzman et al.,
arXiv 1904.09751); min-p those at least min_p times the likeliest (arXiv 2407.01082). transformers applies temperature
before the filters, llama.cpp after them, so the same settings can keep different tokens.
"""

from __future__ import annotations

import bisect
import math
import random
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Settings:
    """One way to sample."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    order: str = "temperature_first"


@dataclass(frozen=True, slots=True)
class Stage:
    """A distribution on the way: what was done, every probability (0 once dropped) and the logits behind them."""

    name: str
    probabilities: tuple[float, ...]
    logits: tuple[float, ...]


def _stage(name: str, logits: list[float]) -> Stage:
    return Stage(name, tuple(softmax(logits)), tuple(logits))


def softmax(logits: list[float]) -> list[float]:
    """Probabilities of logits; minus infinity gives 0."""
    highest = max(logits)
    weights = [math.exp(z - highest) for z in logits]
    total = math.fsum(weights)
    return [w / total for w in weights]


def penalised(logits: list[float], counts: list[int], settings: Settings) -> list[float]:
    """Logits after the penalties for tokens already written `counts` times."""
    out = []
    for z, n in zip(logits, counts, strict=True):
        if n and settings.repetition_penalty != 1.0:
            z = z / settings.repetition_penalty if z > 0 else z * settings.repetition_penalty
        out.append(z - n * settings.frequency_penalty - (settings.presence_penalty if n else 0.0))
    return out


def stages(logits: list[float], counts: list[int], settings: Settings) -> list[Stage]:
    """Every distribution from the raw one to the one that is drawn from."""
    done = [_stage("as the model gave it", logits)]
    current = penalised(logits, counts, settings)
    if current != logits:
        done.append(_stage("penalties", current))
    steps = [_filter_k, _filter_p, _filter_min]
    ordered = [_heat, *steps] if settings.order == "temperature_first" else [*steps, _heat]
    for step in ordered:
        name, changed = step(current, settings)
        if changed != current:
            current = changed
            done.append(_stage(name, current))
    return done


def _heat(logits: list[float], settings: Settings) -> tuple[str, list[float]]:
    if settings.temperature == 0:
        best = logits.index(max(logits))
        return "temperature 0: the likeliest alone", [
            z if i == best else -math.inf for i, z in enumerate(logits)
        ]
    if settings.temperature == 1:
        return "", logits
    # Relative to the largest, or a tiny temperature would make infinities whose difference is no number.
    highest = max(logits)
    return f"temperature {settings.temperature:g}", [(z - highest) / settings.temperature for z in logits]


def _filter_k(logits: list[float], settings: Settings) -> tuple[str, list[float]]:
    if not settings.top_k:
        return "", logits
    kept = set(_ranked(logits)[: settings.top_k])
    if settings.order == "temperature_first":
        # transformers drops what is below the k-th, so equals of the k-th stay; llama.cpp keeps k.
        least = min(logits[i] for i in kept)
        kept = {i for i, z in enumerate(logits) if z >= least}
    return f"top-k {settings.top_k}", [z if i in kept else -math.inf for i, z in enumerate(logits)]


def _filter_p(logits: list[float], settings: Settings) -> tuple[str, list[float]]:
    if settings.top_p >= 1.0:
        return "", logits
    probabilities, kept, reached = softmax(logits), set(), 0.0
    for i in _ranked(logits):
        kept.add(i)
        reached += probabilities[i]
        if reached >= settings.top_p - 1e-12:
            break
    return f"top-p {settings.top_p:g}", [z if i in kept else -math.inf for i, z in enumerate(logits)]


def _filter_min(logits: list[float], settings: Settings) -> tuple[str, list[float]]:
    if not settings.min_p:
        return "", logits
    probabilities = softmax(logits)
    least = settings.min_p * max(probabilities) * (1 - 1e-12)
    return f"min-p {settings.min_p:g}", [
        z if p >= least else -math.inf for z, p in zip(logits, probabilities, strict=True)
    ]


def _ranked(logits: list[float]) -> list[int]:
    by_size = sorted(enumerate(logits), key=lambda pair: -pair[1])
    return [place for place, _ in by_size]


def draw(probabilities: tuple[float, ...], draws: int, seed: int) -> list[int]:
    """How often each token comes up in `draws` seeded draws."""
    dice = random.Random(seed)
    edges = list(accumulate(probabilities))
    counts = [0] * len(probabilities)
    last = max(i for i, p in enumerate(probabilities) if p > 0)
    roll, whole, place = dice.random, edges[-1], bisect.bisect_right
    for i, drawn in Counter([place(edges, roll() * whole) for _ in range(draws)]).items():
        counts[min(i, last)] += drawn
    return counts
