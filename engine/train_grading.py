"""Trains the grader's small model on labelled answers, a fold of questions at a time, and writes it with its figures."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.boosting import Settings, fit
from engine.features import NAMES
from engine.grading_cli import load_embedder
from engine.judgement import FOLDS, PATH, Fold, columns_of, fold_of
from engine.labelled import Labelled, read_labelled, read_samples
from engine.training_rows import Rows, rows_for
from engine.trees import Table

VERSION = "judgement-2"
VETO = 0.25  # chance of the contrary from which nothing is accepted
MOST_CONTRADICTORY = 0.12  # of the contradictory answers of any set, what the threshold may let through
WEIGHTS = {"beetle": 1.0, "science": 1.0, "bank": 1.0, "networks": 0.5}
CONTRARY = 2.0  # weight of a contradictory answer: to accept one is the worst that can happen
# What tells of the question alone lets trees remember how often each question of the training set was answered well.
OF_THE_QUESTION = (
    "length_reference",
    "cosine_reference_question",
    "negators_reference",
    "reference_clauses",
)
LEARNED = tuple(name for name in NAMES if name not in OF_THE_QUESTION)
GROWN = Settings(trees=300, columns=0.2, shrink=20.0)
Names = npt.NDArray[np.str_]


def train(rows: Rows, items: Sequence[Labelled], names: Sequence[str] = LEARNED) -> dict[str, Any]:
    """The model as plain data: a pair of tree sets a fold, thresholds from answers unseen by their trees."""
    table = rows.table[:, list(columns_of(names))]
    folds = np.array([fold_of(item.question, item.references) for item in items])
    gold = np.array([item.gold for item in items])
    weights = np.array([WEIGHTS[item.set] for item in items], dtype=np.float32)
    dear = weights * np.where(gold == "contradictory", CONTRARY, 1.0).astype(np.float32)
    right, contrary = np.zeros(len(folds)), np.zeros(len(folds))
    parts = []
    for fold in range(FOLDS):
        seen = folds != fold
        trees = [
            fit(table[seen], gold[seen] == label, by[seen], replace(GROWN, seed=fold))
            for label, by in (("correct", dear), ("contradictory", weights))
        ]
        parts.append(Fold(*trees))
        right[~seen] = trees[0].chance(table[~seen])
        contrary[~seen] = trees[1].chance(table[~seen])
        print(f"trained fold {fold + 1} of {FOLDS}", file=sys.stderr, flush=True)
    right[contrary >= VETO] = 0
    accept = threshold(right.astype(np.float32), gold, np.array([item.set for item in items]))
    return {
        "version": VERSION,
        "names": list(names),
        "accept": accept,
        "contradict": 0.5,
        "veto": VETO,
        "answers": len(gold),
        "questions": len({item.question_id for item in items}),
        "folds": [
            {"correct": p.correct.to_dict(), "contradictory": p.contradictory.to_dict()} for p in parts
        ],
    }


def threshold(right: Table, gold: Names, sets: Names) -> float:
    """The chance from which an answer is accepted: the best mean macro-F1 that lets few contradictory ones through."""
    best = (0.0, 0.9)
    for value in np.arange(0.4, 0.9, 0.005):
        scores = []
        for name in ("beetle", "science"):
            of = sets == name
            wrong = of & (gold == "contradictory")
            if not of.any() or (right[wrong] >= value).mean() > MOST_CONTRADICTORY:
                break
            scores.append(macro_f1((gold[of] == "correct").tolist(), (right[of] >= value).tolist()))
        else:
            best = max(best, (float(np.mean(scores)), float(value)))
    return round(best[1], 3)


def macro_f1(gold: Sequence[object], found: Sequence[object]) -> float:
    """Mean of the F1 of every label that occurs among the gold ones."""
    scores = []
    for label in sorted({str(g) for g in gold}):
        hit = sum(str(g) == label == str(f) for g, f in zip(gold, found, strict=True))
        total = sum(str(g) == label for g in gold) + sum(str(f) == label for f in found)
        scores.append(2 * hit / total if total else 0.0)
    return sum(scores) / len(scores) if scores else 0.0


def write(model: dict[str, Any], path: Path) -> None:
    """Compressed JSON without a time stamp, so that the same training gives the same file."""
    text = json.dumps(model, separators=(",", ":"), sort_keys=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def main(argv: Sequence[str]) -> int:
    """Trains on every labelled answer and writes engine/grading_model.json.gz."""
    parser = argparse.ArgumentParser(prog="python -m engine.train_grading", description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of labelled answers (*.xml)")
    parser.add_argument(
        "--samples", type=Path, help="the bank's samples, as `manage.py export_samples` writes"
    )
    parser.add_argument("--features", type=Path, help="a file to keep the features in (.npz)")
    parser.add_argument("--out", type=Path, default=PATH)
    options = parser.parse_args(argv)
    items = read_labelled(options.data)
    if options.samples:
        items += [sample.labelled for sample in read_samples(options.samples)]
    model = train(rows_for(items, load_embedder(), options.features), items)
    write(model, options.out)
    print(f"{options.out}: {options.out.stat().st_size} bytes, accepts from {model['accept']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
