"""`python -m engine evaluate abstention`: how well answers and abstentions are told apart, and how good answers are."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import registry
from engine.abstention import (
    alone,
    answer_marks,
    claim_marks,
    floor_off_topic,
    off_topic,
    read_only,
    retrieval_at,
    risk_coverage,
    run,
)
from engine.answer_scores import exact, f1
from engine.asking import ADAPTER, reading_adapter
from engine.question_sets import Labelled, read_questions
from engine.thresholds import load_thresholds

if TYPE_CHECKING:
    from engine.embeddings import Embedder
    from engine.llm import Engine


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = argparse.ArgumentParser(prog="python -m engine evaluate abstention", description=main.__doc__)
    made.add_argument("--data", type=Path, required=True, help="SQuAD 2.0 layout, or a list of questions")
    made.add_argument("--json", action="store_true", help="print the figures as JSON")
    made.add_argument("--articles", nargs="*", help="only these articles")
    made.add_argument("--limit", type=int, help="only so many questions, drawn with seed 0")
    made.add_argument("--answerable", action="store_true", help="only questions that have an answer")
    made.add_argument(
        "--compare", type=int, default=40, help="questions for the other styles and without passages"
    )
    made.add_argument(
        "--off-topic", type=int, default=200, help="questions put to another article's passages"
    )
    made.add_argument(
        "--reader-only", action="store_true", help="the reader alone: minutes instead of an hour"
    )
    made.add_argument("--model", default=os.environ.get("ENGINE_MODEL", registry.DEFAULT_MODEL))
    made.add_argument("--threads", type=int)
    return made


def main(args: Sequence[str]) -> int:
    """Asks every question of a set; reports on all of it and, apart, on articles the adapter never saw."""
    options = parser().parse_args(args)
    everything = read_questions(options.data)
    asked = [row for row in everything if row.answerable or not options.answerable]
    rows = chosen(asked, options.articles, options.limit)
    folder = Path(os.environ.get("PREFILL_MODELS_DIR", str(registry.DEFAULT_DIR)))
    for name in (options.model, "all-minilm-l6-v2"):
        registry.prepare(name, folder)
    from engine.embeddings import Embedder
    from engine.llm import Engine

    embedder = Embedder.load(folder)
    with Engine.load(options.model, folder, options.threads) as engine:
        if options.reader_only:
            found = evaluate_reader(engine, embedder, rows, everything)
        else:
            found = evaluate(engine, embedder, rows, options.compare, options.off_topic)
    found = {"data": options.data.name, **found}
    print(json.dumps(found) if options.json else readable(found))
    return 0


def chosen(rows: Sequence[Labelled], articles: Sequence[str] | None, limit: int | None) -> list[Labelled]:
    """The questions to ask, in order of the file, so that a passage's questions stay together."""
    kept = [row for row in rows if not articles or row.article in articles]
    if limit and limit < len(kept):
        picked = set(random.Random(0).sample(range(len(kept)), limit))
        kept = [row for i, row in enumerate(kept) if i in picked]
    return kept


def evaluate(
    engine: Engine, embedder: Embedder, rows: Sequence[Labelled], compare: int, strange: int
) -> dict[str, Any]:
    """All figures of a set."""
    at = load_thresholds()
    adapter = reading_adapter(engine)
    seen = set(adapter.card.get("data", {}).get("trained_on", ())) if adapter else set()
    outcomes = run(engine, embedder, rows, at)
    parts = {"all": outcomes}
    if any(o.asked.article in seen for o in outcomes):
        parts = {"unseen articles": [o for o in outcomes if o.asked.article not in seen], **parts}
    few = _spread(rows, compare)
    return {
        "model": engine.card.name,
        "adapter": adapter.key if adapter else None,
        "thresholds": at.to_dict(),
        "trained_on": sorted(seen),
        "sets": {name: answer_marks(part, at) for name, part in parts.items() if part},
        "risk_coverage": risk_coverage(next(p for p in parts.values() if p)),
        "retrieval": retrieval_at(rows, rows, embedder),
        "off_topic": off_topic(engine, embedder, rows, at, strange),
        "styles": {s: claim_marks(run(engine, embedder, few, at, s)) for s in ("cited", "free")}
        if few
        else {},
        "without_passages": _alone(engine, few),
    }


def evaluate_reader(
    engine: Engine, embedder: Embedder, rows: Sequence[Labelled], everything: Sequence[Labelled]
) -> dict[str, Any]:
    """The figures that need no decoding; passages of `everything` compete in retrieval.

    Raises `InvalidRequest` without an adapter for the model.
    """
    at, adapter = load_thresholds(), engine.adapter(ADAPTER)
    outcomes = read_only(engine, rows)
    return {
        "model": engine.card.name,
        "adapter": adapter.key,
        "thresholds": at.to_dict(),
        "sets": {"all, reader only": answer_marks(outcomes, at)},
        "risk_coverage": risk_coverage(outcomes),
        "retrieval": retrieval_at(rows, everything, embedder),
        "off_topic": floor_off_topic(rows, everything, embedder, at),
    }


def _spread(rows: Sequence[Labelled], count: int) -> list[Labelled]:
    """As many questions, half of them unanswerable where there are enough, drawn with seed 0."""
    rng, found = random.Random(0), []
    for kind in (True, False):
        half = [row for row in rows if row.answerable is kind]
        found += rng.sample(half, min(len(half), count // 2))
    return found


def _alone(engine: Engine, rows: Sequence[Labelled]) -> dict[str, Any]:
    """The ungrounded answers: they never abstain, so every unanswerable question gets one."""
    asked = [row for row in rows if row.answerable]
    texts = alone(engine, asked)
    pairs = list(zip(texts, (row.answers for row in asked), strict=True))
    return {
        "questions": len(pairs),
        "exact": sum(exact(*p) for p in pairs) / max(1, len(pairs)),
        "f1": sum(f1(*p) for p in pairs) / max(1, len(pairs)),
    }


def readable(found: dict[str, Any]) -> str:
    """The figures as lines of text."""
    lines = [f"{found['data']}: {found['model']}, adapter {found['adapter']}"]
    for name, marks in found["sets"].items():
        lines.append(f"\n{name}")
        lines += [f"  {key:<30} {_number(value)}" for key, value in marks.items()]
    for name in ("retrieval", "off_topic", "styles", "without_passages"):
        if name in found:
            lines.append(f"\n{name}: {json.dumps(found[name])}")
    lines.append("\nrisk and coverage")
    lines += [f"  {p['coverage']:.0%} answered: risk {p['risk']:.3f}" for p in found["risk_coverage"]]
    return "\n".join(lines)


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return " to ".join(f"{v:.3f}" for v in value) if isinstance(value, tuple) else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
