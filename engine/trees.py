"""Boosted symmetric trees: every level of a tree asks one question, so that a tree is a small table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Trees:
    """`features` and `limits` are [trees, depth]; `leaves` [trees, 2**depth] adds up to the log-odds."""

    base: float
    features: npt.NDArray[np.int64]
    limits: Table
    leaves: Table

    def log_odds(self, rows: Table) -> Table:
        """Log-odds of each row [n, features]."""
        powers = 1 << np.arange(self.features.shape[1])
        index = (rows[:, self.features] > self.limits).astype(np.int64) @ powers
        values = self.leaves[np.arange(len(self.leaves)), index]
        return np.asarray(self.base + values.sum(axis=1, dtype=np.float64), dtype=np.float32)

    def chance(self, rows: Table) -> Table:
        """Probability of each row."""
        return np.asarray(1 / (1 + np.exp(-self.log_odds(rows))), dtype=np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, rounded to five significant digits."""
        return {
            "base": round(self.base, 5),
            "features": self.features.tolist(),
            "limits": _rounded(self.limits),
            "leaves": _rounded(self.leaves),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trees:
        """The trees that `to_dict` wrote."""
        return cls(
            float(data["base"]),
            np.array(data["features"], dtype=np.int64),
            np.array(data["limits"], dtype=np.float32),
            np.array(data["leaves"], dtype=np.float32),
        )


def _rounded(values: Table) -> list[list[float]]:
    return [[float(f"{value:.5g}") for value in row] for row in values]
