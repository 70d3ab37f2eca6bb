"""`python -m engine evaluate grading`: verdicts on labelled answers, each by trees that never saw its question."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine.embeddings import Embedder
from engine.gates import gates
from engine.grading import Grader
from engine.grading_cli import load_embedder
from engine.intake import intake
from engine.judgement import fold_of, load_model
from engine.labelled import Labelled, Sample, grouped, read_labelled, read_samples
from engine.normalise import normalise
from engine.reference import decide, prepared
from engine.reference_verdict import refusal
from engine.train_grading import macro_f1
from engine.training_rows import rows_for, said
from engine.verdict import GRADER, Label

THREE = {
    "correct": "correct",
    "contradictory": "contradictory",
    "partial": "incorrect",
    "incorrect": "incorrect",
    "not_assessed": "incorrect",
}
TIMED = 60
MADE_EVERY = 4  # made answers of every fourth question
COMMAND = "python -m engine evaluate grading --data DATA --samples SAMPLES --features FEATURES --json"
WORDS = 150
WRONG_KINDS = ("contradictory", "stuffed", "off_topic")


def reference_verdicts(
    items: Sequence[Labelled], embedder: Embedder, kept: Path | None = None
) -> list[tuple[Labelled, Label]]:
    """The verdict on every answer by its references alone, by trees that never saw its question."""
    rows, model = rows_for(items, embedder, kept), load_model()
    out: list[tuple[Labelled, Label]] = []
    for item, row, nearest in zip(items, rows.table, rows.nearest, strict=True):
        references = [normalise(text).text for text in item.references]
        taken = intake(item.question, item.answer, references, embedder.knows)
        if refusal(item.question, taken):
            out.append((item, "incorrect"))
            continue
        ours = said(prepared(taken.normalised.text, references, embedder))
        gate = gates(item.question, ours, [said(text) for text in references], int(nearest), embedder.knows)
        out.append((item, decide(model.chances(row, fold_of(item.question, item.references)), model, gate)))
    return out


def set_figures(pairs: Sequence[tuple[Labelled, Label]]) -> dict[str, Any]:
    """Macro-F1, confusion and the share of contradictory answers accepted."""
    gold = [item.gold for item, _ in pairs]
    found = [label for _, label in pairs]
    wrong = [label for item, label in pairs if item.gold == "contradictory"]
    out: dict[str, Any] = {
        "questions": len({item.question_id for item, _ in pairs}),
        "answers": len(pairs),
        "macro_f1_2way": round(macro_f1([g == "correct" for g in gold], [f == "correct" for f in found]), 4),
        "confusion": _confusion(gold, found),
    }
    if wrong:
        out["macro_f1_3way"] = round(macro_f1(gold, [THREE[f] for f in found]), 4)
        out["contradictory_accepted"] = round(wrong.count("correct") / len(wrong), 4)
    return out


def _confusion(gold: Sequence[str], found: Sequence[str]) -> dict[str, dict[str, int]]:
    counts = Counter(zip(gold, found, strict=True))
    columns = ("correct", "partial", "incorrect", "contradictory", "not_assessed")
    return {row: {column: counts[row, column] for column in columns} for row in sorted(set(gold))}


def made_answers(
    items: Sequence[Labelled], grade: Callable[[str, str, Sequence[str]], Label]
) -> dict[str, Any]:
    """Answers made from each question: copied, shuffled and denied ones, with how often they are accepted."""
    firsts = [group[0] for group in grouped(items)][::MADE_EVERY]
    makers: dict[str, Callable[[Labelled], str]] = {
        "question_copied": lambda item: item.question,
        "question_three_times": lambda item: " ".join([item.question] * 3),
        "reference_shuffled": lambda item: _shuffle(item.references[0]),
        "reference_denied": lambda item: "It is not true that " + _lower(item.references[0]),
    }
    out: dict[str, Any] = {}
    for name, make in makers.items():
        labels = [grade(item.question, make(item), item.references[:1]) for item in firsts]
        out[name] = {"answers": len(labels), "accepted": labels.count("correct")}
        if name == "reference_denied":
            out[name]["contradictory"] = labels.count("contradictory")
    return out


def _shuffle(text: str) -> str:
    """The words in an order that depends on nothing but the words."""
    words = text.split()
    return " ".join(words[1::2][::-1] + words[::2])


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def sample_figures(samples: Sequence[Sample], grader: Grader) -> dict[str, Any]:
    """Verdicts on the bank's samples by their rubrics: how many of each kind got which."""
    counts: dict[str, Counter[str]] = {}
    for sample in samples:
        item = sample.labelled
        verdict = grader.grade(question=item.question, answer=item.answer, rubric=sample.rubric)
        counts.setdefault(sample.kind, Counter())[verdict.verdict] += 1
    table = {kind: dict(sorted(found.items())) for kind, found in counts.items()}
    return {
        "samples": len(samples),
        "verdicts": table,
        "accepted": {kind: round(found["correct"] / found.total(), 4) for kind, found in counts.items()},
        "wrong_accepted": round(
            sum(counts[k]["correct"] for k in WRONG_KINDS) / sum(counts[k].total() for k in WRONG_KINDS), 4
        ),
    }


def latency(samples: Sequence[Sample], grader: Grader) -> dict[str, Any]:
    """Milliseconds for an answer of about 150 words, by rubric and by reference, on one thread."""
    import torch

    torch.set_num_threads(1)
    by_rubric, by_reference = [], []
    for sample in [s for s in samples if s.kind == "strong"][:TIMED]:
        item = sample.labelled
        answer = " ".join((item.answer + " " + item.references[0] + " ").split() * 4)
        answer = " ".join(answer.split()[:WORDS])
        for by in ({"rubric": sample.rubric}, {"reference": item.references}):
            grader.grade(
                question=item.question, answer="Bread needs flour and yeast.", **by
            )  # what all answers share
        by_rubric.append(_milliseconds(grader, item, answer, {"rubric": sample.rubric}))
        by_reference.append(_milliseconds(grader, item, answer, {"reference": item.references}))
    return {
        "words": WORDS,
        "threads": 1,
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "by_rubric_ms": _percentiles(by_rubric),
        "by_reference_ms": _percentiles(by_reference),
    }


def _milliseconds(grader: Grader, item: Labelled, answer: str, by: dict[str, Any]) -> tuple[float, float]:
    start, busy = time.perf_counter(), time.process_time()
    grader.grade(question=item.question, answer=answer, **by)
    return 1000 * (time.perf_counter() - start), 1000 * (time.process_time() - busy)


def _percentiles(values: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Of the clock and of the processor time that the answer itself took (on a busy machine they differ)."""
    out: dict[str, float] = {}
    for name, column in (("", 0), ("_processor", 1)):
        cuts = statistics.quantiles([value[column] for value in values], n=20)
        out |= {f"p50{name}": round(cuts[9], 1), f"p95{name}": round(cuts[18], 1)}
    return out


def evaluate(
    data: Path | None, samples: Path | None, limit: int | None, kept: Path | None = None
) -> dict[str, Any]:
    """Every figure, as plain data."""
    embedder = load_embedder()
    grader = Grader(embedder)
    report: dict[str, Any] = {
        "command": COMMAND,
        "date": time.strftime("%Y-%m-%d"),
        "grader": GRADER,
        "model": load_model().version,
    }
    if data is not None:
        items = read_labelled(data)
        if limit:
            items = [item for group in grouped(items)[:: max(1, limit)] for item in group]
        pairs = reference_verdicts(items, embedder, kept)
        names = sorted({item.set for item in items})
        report["sets"] = {n: set_figures([pair for pair in pairs if pair[0].set == n]) for n in names}
        report["made"] = made_answers(
            items, lambda q, a, r: grader.grade(question=q, answer=a, reference=r).verdict
        )
    if samples is not None:
        bank = read_samples(samples)
        report["bank"] = sample_figures(bank, grader)
        report["latency"] = latency(bank, grader)
    return report


def summary(report: dict[str, Any]) -> str:
    """The figures in a few lines for people."""
    lines = [f"{report['grader']}, {report['model']}"]
    for name, found in {
        **report.get("sets", {}),
        "bank by reference": report.get("bank_by_reference"),
    }.items():
        if found:
            accepted = found.get("contradictory_accepted")
            more = (
                ""
                if accepted is None
                else f", 3-way {found['macro_f1_3way']:.3f}, contradictory accepted {accepted:.1%}"
            )
            lines.append(
                f"{name}: {found['answers']} answers, {found['questions']} questions: "
                f"macro-F1 2-way {found['macro_f1_2way']:.3f}{more}"
            )
    for name, found in report.get("made", {}).items():
        lines.append(f"{name}: {found}")
    if "bank" in report:
        lines.append(
            f"bank by rubric: accepted {report['bank']['accepted']}, wrong {report['bank']['wrong_accepted']}"
        )
        lines.append(f"latency: {report['latency']}")
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Verdicts on labelled answers (--data) and on the bank's samples (--samples)."""
    parser = argparse.ArgumentParser(prog="python -m engine evaluate grading", description=main.__doc__)
    parser.add_argument("--data", type=Path, help="folder of labelled answers (*.xml)")
    parser.add_argument("--samples", type=Path, help="what `manage.py export_samples` wrote")
    parser.add_argument("--features", type=Path, help="features that train_grading kept (.npz)")
    parser.add_argument("--every", type=int, help="only every n-th question, for a quick look")
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
    options = parser.parse_args(argv)
    if options.data is None and options.samples is None:
        parser.error("--data or --samples is needed")
    try:
        report = evaluate(options.data, options.samples, options.every, options.features)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(report, indent=1) if options.json else summary(report))
    return 0
