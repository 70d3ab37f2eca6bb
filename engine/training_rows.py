"""Features of labelled answers, computed once and kept in a file for training and evaluation."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.clauses import Clause, clauses
from engine.described import describe, whole_clause
from engine.embeddings import Embedder
from engine.judgement import compared, row_of
from engine.labelled import Labelled, grouped
from engine.reference import prepared
from engine.trees import Table


@dataclass(frozen=True, slots=True)
class Rows:
    """A row of features and the index of the nearest reference for each answer, in the answers' order."""

    table: Table
    nearest: npt.NDArray[np.int64]
    key: str


@dataclass(frozen=True, slots=True)
class Said:
    """A text as the gates read it, without vectors."""

    text: str
    whole: Clause
    parts: tuple[Clause, ...]


def said(text: str) -> Said:
    """A normalised text, cut for the gates."""
    return Said(text, whole_clause(text), clauses(text))


def rows_for(items: Sequence[Labelled], embedder: Embedder, kept: Path | None) -> Rows:
    """The rows in `kept` when they belong to these answers; otherwise computed, and kept there."""
    if kept is not None and kept.is_file():
        rows = load_rows(kept)
        if rows.key == key_of(items):
            return rows
    rows = compute(items, embedder)
    if kept is not None:
        np.savez_compressed(kept, table=rows.table, nearest=rows.nearest, key=np.array(rows.key))
    return rows


def load_rows(path: Path) -> Rows:
    """Rows that `rows_for` kept."""
    with np.load(path) as data:
        return Rows(data["table"], data["nearest"], str(data["key"]))


def key_of(items: Sequence[Labelled]) -> str:
    """A hash of the answers, their questions and references."""
    text = "\0".join("\1".join((item.question, *item.references, item.answer)) for item in items)
    return hashlib.sha256(text.encode()).hexdigest()


def compute(items: Sequence[Labelled], embedder: Embedder) -> Rows:
    """Rows for every answer; the texts of one question are encoded together."""
    places = {id(item): i for i, item in enumerate(items)}
    found: dict[int, tuple[Table, int]] = {}
    for number, group in enumerate(grouped(items)):
        first = group[0]
        answers = [prepared(item.answer, first.references, embedder) for item in group]
        asked, *rest = describe([first.question, *first.references, *answers], first.question, embedder)
        theirs, ours = rest[: len(first.references)], rest[len(first.references) :]
        for item, one in zip(group, ours, strict=True):
            found[places[id(item)]] = row_of(compared(one, theirs, asked, embedder.knows))
        if number % 20 == 0:
            print(f"described {number + 1} questions", file=sys.stderr, flush=True)
    ordered = [found[i] for i in range(len(items))]
    return Rows(np.stack([row for row, _ in ordered]), np.array([n for _, n in ordered]), key_of(items))
