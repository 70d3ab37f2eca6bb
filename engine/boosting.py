"""Training of boosted symmetric trees by Newton steps on the logistic loss, on binned features, in plain numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.trees import Table, Trees

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Settings:
    """How trees are grown."""

    trees: int = 260
    depth: int = 4
    rate: float = 0.06
    bins: int = 32
    rows: float = 0.7
    columns: float = 0.3
    shrink: float = 8.0
    seed: int = 0


def fit(rows: Table, target: npt.NDArray[np.bool_], weights: Table, settings: Settings) -> Trees:
    """Trees for the chance that `target` holds; the same seed gives the same trees."""
    random = np.random.default_rng(settings.seed)
    limits = _limits(rows, settings.bins)
    binned = np.stack([np.searchsorted(limits[j], rows[:, j]) for j in range(rows.shape[1])], axis=1)
    share = float(np.average(target, weights=weights))
    base = float(np.log(share / (1 - share)))
    score: Floats = np.full(len(rows), base)
    grown: list[tuple[Ints, Table, Table]] = []
    for _ in range(settings.trees):
        chance = 1 / (1 + np.exp(-score))
        gradient, curve = weights * (target - chance), weights * chance * (1 - chance)
        chosen = random.random(len(rows)) < settings.rows
        columns = np.sort(random.permutation(rows.shape[1])[: max(1, int(settings.columns * rows.shape[1]))])
        tree = _grow(binned, gradient * chosen, curve * chosen, columns, settings)
        grown.append(_as_limits(tree, limits))
        score += grown[-1][2][_leaf(binned, tree[0], tree[1])]
    return Trees(base, *(np.stack(part) for part in zip(*grown, strict=True)))


def _limits(rows: Table, bins: int) -> list[Table]:
    shares = np.linspace(0, 1, bins + 1)[1:-1]
    return [np.unique(np.quantile(rows[:, j], shares).astype(np.float32)) for j in range(rows.shape[1])]


def _as_limits(tree: tuple[Ints, Ints, Table], limits: list[Table]) -> tuple[Ints, Table, Table]:
    columns, cuts, leaves = tree
    values = [limits[j][cut] for j, cut in zip(columns, cuts, strict=True)]
    return columns, np.array(values, dtype=np.float32), leaves


def _leaf(binned: Ints, columns: Ints, cuts: Ints) -> Ints:
    powers = 1 << np.arange(len(columns))
    return np.asarray((binned[:, columns] > cuts) @ powers, dtype=np.int64)


def _grow(
    binned: Ints, gradient: Floats, curve: Floats, columns: Ints, settings: Settings
) -> tuple[Ints, Ints, Table]:
    """Level by level, the question that helps the leaves so far the most."""
    leaf = np.zeros(len(binned), dtype=np.int64)
    asked: list[int] = []
    cuts: list[int] = []
    table = binned[:, columns]
    for level in range(settings.depth):
        gain = _gains(table, leaf, 1 << level, gradient, curve, settings)
        column, cut = np.unravel_index(int(np.argmax(gain)), gain.shape)
        asked.append(int(columns[column]))
        cuts.append(int(cut))
        leaf = leaf + ((table[:, column] > cut).astype(np.int64) << level)
    total = np.bincount(leaf, gradient, 1 << settings.depth)
    bend = np.bincount(leaf, curve, 1 << settings.depth)
    leaves = settings.rate * total / (bend + settings.shrink)
    return np.array(asked), np.array(cuts), leaves.astype(np.float32)


def _gains(
    table: Ints, leaf: Ints, leaves: int, gradient: Floats, curve: Floats, settings: Settings
) -> Floats:
    """[columns, bins - 1]: what a cut after each bin would gain, over all leaves."""
    bins, columns = settings.bins, table.shape[1]
    flat = ((leaf[:, None] * columns + np.arange(columns)) * bins + table).ravel()
    size = leaves * columns * bins

    def sums(values: Floats) -> Floats:
        spread = np.bincount(flat, np.repeat(values, columns), size)
        return spread.reshape(leaves, columns, bins).cumsum(axis=2)

    left_g, left_h = sums(gradient), sums(curve)
    right_g, right_h = left_g[:, :, -1:] - left_g, left_h[:, :, -1:] - left_h
    gain = left_g**2 / (left_h + settings.shrink) + right_g**2 / (right_h + settings.shrink)
    return np.asarray(gain.sum(axis=0)[:, :-1], dtype=np.float64)
