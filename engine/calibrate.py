"""`python -m engine calibrate`: the gates' thresholds from labelled questions that nothing was trained on."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine import registry
from engine.abstention import Outcome, answer_marks, read_only
from engine.answer_scores import even_threshold
from engine.asking import ADAPTER
from engine.embeddings import Embedder
from engine.question_sets import Labelled
from engine.relevance import consider
from engine.thresholds import STORED, Thresholds, load_thresholds
from engine.train_data import Paragraph, read_squad, split
from engine.types import Passage

KEPT = 0.99  # of the questions that are on topic pass the retrieval floor
STOPPED = 0.99  # of those off topic it stops, even where that costs some on topic


def main(argv: Sequence[str]) -> int:
    """Sets the thresholds by the passages that training set aside; the held articles stay untouched.

    Raises `InvalidRequest` for a model without an adapter.
    """
    parser = argparse.ArgumentParser(prog="python -m engine calibrate", description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the file the adapter was trained on")
    parser.add_argument("--hold", nargs="*", default=[], help="the articles to report on")
    parser.add_argument("--out", type=Path, default=STORED)
    parser.add_argument("--version", required=True)
    parser.add_argument("--model", default=os.environ.get("ENGINE_MODEL", registry.DEFAULT_MODEL))
    options = parser.parse_args(argv)
    folder = Path(os.environ.get("PREFILL_MODELS_DIR", str(registry.DEFAULT_DIR)))
    from engine.llm import Engine

    _, aside = split(read_squad(options.data), options.hold)
    rows = labelled(aside)
    embedder = Embedder.load(folder)
    with Engine.load(options.model, folder) as engine:
        old = load_thresholds()
        adapter = engine.adapter(ADAPTER)
        outcomes = read_only(engine, rows)
        floor = retrieval_floor(rows, embedder)
        found = Thresholds(options.version, floor[0], stated_edge(outcomes), old.stated_alone, old.share)
        card = {
            **found.to_dict(),
            "command": f"python -m engine calibrate --data {options.data.name} --hold {' '.join(options.hold)}"
            f" --version {options.version}",
            "questions": len(rows),
            "off_topic_stopped_by_the_floor": floor[1],
            "adapter": adapter.key,
            "marks": answer_marks(outcomes, found),
        }
    options.out.write_text(json.dumps(card, indent=2) + "\n")
    print(json.dumps(card))
    return 0


def labelled(paragraphs: Sequence[Paragraph]) -> list[Labelled]:
    """The questions of some passages."""
    return [
        Labelled(
            q.question, (Passage(f"{p.article}#{n}", p.text),), tuple(a for a, _ in q.answers), p.article
        )
        for n, p in enumerate(paragraphs)
        for q in p.asked
    ]


def stated_edge(outcomes: Sequence[Outcome]) -> float:
    """The probability at which the answerable and the others are misjudged equally often."""
    return round(even_threshold([o.stated for o in outcomes], [o.asked.answerable for o in outcomes]), 4)


def retrieval_floor(
    rows: Sequence[Labelled], embedder: Embedder, seed: int = 0
) -> tuple[float, float | None]:
    """The relevance that all but one in a hundred questions on topic have, or all but one off topic lack where that is
    higher; and the share off topic it stops.

    Off topic is a passage of another article; None where there is only one.
    """
    rng = random.Random(seed)
    on, off = [], []
    for row in rows:
        on.append(max(c.relevance for c in consider(row.question, row.passages, embedder)))
        others = [o for o in rows if o.article != row.article]
        if others:
            strange = rng.choice(others).passages
            off.append(max(c.relevance for c in consider(row.question, strange, embedder)))
    edge = round(max(float(np.quantile(on, 1 - KEPT)), float(np.quantile(off or [0.0], STOPPED))), 4)
    return edge, float(np.mean([value < edge for value in off])) if off else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
