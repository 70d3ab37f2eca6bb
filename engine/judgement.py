"""The small calibrated model: how likely an answer says what a reference says, and how likely the contrary."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.alignment import Known
from engine.described import Described
from engine.embeddings import Vectors
from engine.features import NAMES, compare
from engine.trees import Table, Trees

PATH = Path(__file__).parent / "grading_model.json.gz"
FOLDS = 5
NEAREST = [NAMES.index("f_soft"), NAMES.index("cosine")]  # what the nearest reference is chosen by


@dataclass(frozen=True, slots=True)
class Chances:
    """Probability that the answer is right, and that it says the contrary of the reference."""

    correct: float
    contradictory: float


@dataclass(frozen=True, slots=True)
class Fold:
    """Trees that have not seen the questions of one fold."""

    correct: Trees
    contradictory: Trees


@dataclass(frozen=True, slots=True)
class JudgementModel:
    """One pair of tree sets a fold; an unseen question gets their mean."""

    version: str
    accept: float
    contradict: float
    veto: float
    columns: tuple[int, ...]
    folds: tuple[Fold, ...]

    def chances(self, row: Table, fold: int | None = None) -> Chances:
        """Chances for one row of features; with `fold`, by the trees that never saw its questions."""
        used = self.folds if fold is None else (self.folds[fold],)
        rows = row[None, list(self.columns)]
        return Chances(
            float(np.mean([part.correct.chance(rows)[0] for part in used])),
            float(np.mean([part.contradictory.chance(rows)[0] for part in used])),
        )


@cache
def load_model(path: Path = PATH) -> JudgementModel:
    """The shipped model; its features must be those of this code."""
    data: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    columns = columns_of(data["names"])
    folds = tuple(
        Fold(Trees.from_dict(fold["correct"]), Trees.from_dict(fold["contradictory"]))
        for fold in data["folds"]
    )
    return JudgementModel(data["version"], data["accept"], data["contradict"], data["veto"], columns, folds)


def columns_of(names: Sequence[str]) -> tuple[int, ...]:
    """Places of the named features in a row: of the nearest reference, the highest and the lowest ones."""
    return tuple(part * len(NAMES) + NAMES.index(name) for part in range(3) for name in names)


def fold_of(question: str, references: Sequence[str]) -> int:
    """The fold of a question, by its text and references: every set of trees but this fold's was trained on it."""
    plain = " ".join(" ".join((question, *references)).lower().split())
    return int.from_bytes(hashlib.sha256(plain.encode()).digest()[:8], "big") % FOLDS


def compared(
    answer: Described, references: Sequence[Described], question: Described, known: Known
) -> Vectors:
    """Features of an answer against each alternative reference, [references, NAMES]."""
    return np.stack([compare(answer, reference, question, known) for reference in references])


def row_of(table: Vectors) -> tuple[Vectors, int]:
    """One row for the model: the nearest reference's features, then the highest and lowest of each; and its index."""
    nearest = int(np.argmax(table[:, NEAREST].sum(axis=1)))
    return np.concatenate([table[nearest], table.max(axis=0), table.min(axis=0)]), nearest
