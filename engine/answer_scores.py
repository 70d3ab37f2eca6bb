"""How answers and abstentions are scored: SQuAD's exact match and F1, balanced accuracy, AUC, risk and coverage."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

ARTICLES = re.compile(r"\b(?:a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_normal(text: str) -> str:
    """Lower case, no punctuation, no articles, single spaces: what SQuAD's own scorer compares."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact(answer: str, accepted: Iterable[str]) -> float:
    """1 when the answer equals an accepted one."""
    return float(any(squad_normal(answer) == squad_normal(text) for text in accepted))


def f1(answer: str, accepted: Iterable[str]) -> float:
    """The best token F1 against an accepted answer."""
    return max((_overlap(answer, text) for text in accepted), default=0.0)


def _overlap(answer: str, accepted: str) -> float:
    got, wanted = squad_normal(answer).split(), squad_normal(accepted).split()
    common = sum((Counter(got) & Counter(wanted)).values())
    return 2 * common / (len(got) + len(wanted)) if common else 0.0


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The chance that a positive scores above a negative; ties count half. NaN when one kind is missing."""
    values, kinds = np.asarray(scores, float), np.asarray(positive, bool)
    above, below = values[kinds], values[~kinds]
    if not len(above) or not len(below):
        return float("nan")
    ordered = np.sort(below)
    less, at_most = np.searchsorted(ordered, above, "left"), np.searchsorted(ordered, above, "right")
    return float((less + at_most).mean() / 2 / len(below))


def balanced_accuracy(chosen: Sequence[bool], wanted: Sequence[bool]) -> float:
    """The mean of the accuracies on the two halves; 0.5 is what always abstaining gets."""
    got, right = np.asarray(chosen, bool), np.asarray(wanted, bool)
    halves = [float((got[right == kind] == kind).mean()) for kind in (True, False) if (right == kind).any()]
    return float(np.mean(halves)) if halves else float("nan")


def best_threshold(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The score at or above which to answer, for the highest balanced accuracy."""
    ordered = sorted(set(scores))
    edges = [(a + b) / 2 for a, b in pairwise(ordered)] or [0.0]
    return max(edges, key=lambda edge: balanced_accuracy([s >= edge for s in scores], positive))


def even_threshold(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The score at or above which to answer so that both halves err alike.

    It hangs on the middles of both halves and so moves less from sample to sample than the best threshold does.
    """
    values, kinds = np.asarray(scores, float), np.asarray(positive, bool)
    ordered = sorted(set(scores))
    edges = [(a + b) / 2 for a, b in pairwise(ordered)] or [0.0]

    def uneven(edge: float) -> float:
        return abs(float((values[kinds] < edge).mean()) - float((values[~kinds] >= edge).mean()))

    return min(edges, key=uneven)


def interval(
    count: int, statistic: Callable[[npt.NDArray[np.int64]], float], seed: int = 0, draws: int = 1000
) -> tuple[float, float]:
    """The 95% bootstrap interval of a statistic of row numbers (percentile method)."""
    rng = np.random.default_rng(seed)
    values = [statistic(rng.integers(0, count, count)) for _ in range(draws)] if count else [float("nan")]
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return float(low), float(high)
