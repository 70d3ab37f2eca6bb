"""Running a question set through `ask` with every gate open, so that thresholds can be laid over it afterwards."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from engine.answer_scores import auc, balanced_accuracy, exact, f1, interval
from engine.answers import AskResult, Citation, Style
from engine.ask import ask
from engine.ask_prompts import alone_request
from engine.asking import ADAPTER
from engine.question_sets import Labelled
from engine.ranking import Ranking
from engine.reading import read
from engine.relevance import consider
from engine.thresholds import Thresholds

if TYPE_CHECKING:
    from engine.embeddings import Embedder
    from engine.llm import Engine

R = TypeVar("R")
T = TypeVar("T")
THREADS = 4
OPEN = -1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question with what came of it: the numbers of the gates and the answer that open gates let through."""

    asked: Labelled
    relevance: float
    stated: float
    answer: str
    result: AskResult

    def answered(self, at: Thresholds) -> bool:
        """Whether the gates would have let the answer through."""
        return bool(self.answer) and self.relevance >= at.relevance and self.stated >= at.stated


def run(
    engine: Engine, embedder: Embedder, rows: Sequence[Labelled], at: Thresholds, style: Style = "quote"
) -> list[Outcome]:
    """Every question asked with the first two gates open, several at a time, with progress on stderr."""
    opened = replace(at, relevance=OPEN, stated=OPEN, stated_alone=OPEN)

    def one(row: Labelled) -> Outcome:
        result = ask(engine, embedder, row.question, row.passages, style, seed=0, thresholds=opened)
        values = {gate.name: gate.value for gate in result.gates}
        return Outcome(row, values.get("retrieval", 0.0), values.get("stated", 0.0), result.answer, result)

    return _each(one, rows, style)


def read_only(engine: Engine, rows: Sequence[Labelled]) -> list[Outcome]:
    """Every question put to the reader alone: no retrieval floor, no decoding, the pointer's span as the answer."""

    def one(row: Labelled) -> Outcome:
        found = [(p, read(engine, ADAPTER, row.question, p.text)) for p in row.passages]
        passage, best = max(found, key=lambda pair: pair[1].stated)
        text = passage.text[best.start : best.end]
        cited = (Citation(passage.id, best.start, best.end, text),)
        result = AskResult("answered", text, "", cited, (), 1.0, (), "quote", (), {})
        return Outcome(row, 1.0, best.stated, text, result)

    return _each(one, rows, "read")


def alone(engine: Engine, rows: Sequence[Labelled]) -> list[str]:
    """What the model says to each question without a passage."""
    return _each(lambda row: engine.generate(alone_request(row.question)).text, rows, "without passages")


def _each(work: Callable[[R], T], rows: Sequence[R], what: str) -> list[T]:
    found: list[T] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for n, value in enumerate(pool.map(work, rows), 1):
            found.append(value)
            if n % 50 == 0 or n == len(rows):
                print(f"{what}: {n}/{len(rows)}", file=sys.stderr, flush=True)
    return found


def answer_marks(outcomes: Sequence[Outcome], at: Thresholds) -> dict[str, Any]:
    """Abstention and answers of a set at some thresholds, with 95% bootstrap intervals."""
    chosen = [o.answered(at) for o in outcomes]
    wanted = [o.asked.answerable for o in outcomes]
    stated = [o.stated for o in outcomes]
    scored = [
        (f1(o.answer, o.asked.answers), exact(o.answer, o.asked.answers), yes)
        for o, yes in zip(outcomes, chosen, strict=True)
        if o.asked.answerable
    ]

    def balanced(rows: Any) -> float:
        return balanced_accuracy([chosen[i] for i in rows], [wanted[i] for i in rows])

    return {
        "questions": len(outcomes),
        "answerable": sum(wanted),
        "balanced_accuracy": balanced(range(len(outcomes))),
        "balanced_accuracy_95": interval(len(outcomes), balanced),
        "auc": auc(stated, wanted),
        "answered_of_answerable": _share([c for c, w in zip(chosen, wanted, strict=True) if w]),
        "abstained_of_unanswerable": _share([not c for c, w in zip(chosen, wanted, strict=True) if not w]),
        **_precision(chosen, wanted),
        "f1_answerable": _mean([score * yes for score, _, yes in scored]),
        "f1_answerable_gates_open": _mean([score for score, _, _ in scored]),
        "f1_answerable_gates_open_95": interval(
            len(scored), lambda rows: _mean([scored[i][0] for i in rows])
        ),
        "exact_answerable_gates_open": _mean([same for _, same, _ in scored]),
        "verbatim": _share([_verbatim(o) for o in outcomes]),
    }


def _precision(chosen: Sequence[bool], wanted: Sequence[bool]) -> dict[str, float]:
    return {
        "answer_precision": _share([w for c, w in zip(chosen, wanted, strict=True) if c]),
        "abstention_precision": _share([not w for c, w in zip(chosen, wanted, strict=True) if not c]),
    }


def _verbatim(outcome: Outcome) -> bool:
    texts = {p.id: p.text for p in outcome.asked.passages}
    return all(texts[c.passage][c.start : c.end] == c.text for c in outcome.result.citations)


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else float("nan")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def risk_coverage(outcomes: Sequence[Outcome], points: int = 10) -> list[dict[str, float]]:
    """The surest share of the questions answered, and how wrong those answers are (1 - F1; 1 when unanswerable)."""
    ordered = sorted(outcomes, key=lambda o: -o.stated)
    found = []
    for k in range(1, points + 1):
        taken = ordered[: max(1, round(len(ordered) * k / points))]
        risk = 1 - _mean([f1(o.answer, o.asked.answers) for o in taken])
        found.append({"coverage": k / points, "risk": risk, "stated_at_least": taken[-1].stated})
    return found


def retrieval_at(
    rows: Sequence[Labelled], among: Sequence[Labelled], embedder: Embedder, k: int = 5
) -> dict[str, float]:
    """How often an answerable question's own passage is among the first k of all passages of `among`."""
    texts = {p.text: None for row in among for p in row.passages}
    position = {text: i for i, text in enumerate(texts)}
    ranking = Ranking(list(texts), embedder)
    asked = [row for row in rows if row.answerable and len(row.passages) == 1]
    hits = [position[row.passages[0].text] in ranking.order(row.question)[:k] for row in asked]
    return {"k": k, "passages": len(texts), "questions": len(asked), "found": _share(hits)}


def floor_off_topic(
    rows: Sequence[Labelled],
    among: Sequence[Labelled],
    embedder: Embedder,
    at: Thresholds,
    count: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """How often the retrieval floor alone stops a question put to a passage of another article."""
    rng = random.Random(seed)
    values = []
    for row in rng.sample(list(rows), min(count, len(rows))):
        others = [o for o in among if o.article != row.article]
        if others:
            strange = rng.choice(others).passages
            values.append(max(c.relevance for c in consider(row.question, strange, embedder)))
    return {"questions": len(values), "stopped": _share([v < at.relevance for v in values])}


def off_topic(
    engine: Engine,
    embedder: Embedder,
    rows: Sequence[Labelled],
    at: Thresholds,
    count: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """How often a question put to passages of another article ends in an abstention, and at which gate."""
    rng = random.Random(seed)
    articles = {row.article for row in rows}
    if len(articles) < 2:
        return {"questions": 0, "abstained": None}
    strange = []
    for row in rng.sample(list(rows), min(count, len(rows))):
        others = [o for o in rows if o.article != row.article]
        strange.append(replace(row, passages=rng.choice(others).passages, answers=()))
    outcomes = _each(
        lambda row: ask(engine, embedder, row.question, row.passages, seed=0, thresholds=at),
        strange,
        "off topic",
    )
    gates = [o.decided_by for o in outcomes]
    return {
        "questions": len(outcomes),
        "abstained": _share([o.status == "abstained" for o in outcomes]),
        "by_gate": {name: gates.count(name) for name in sorted(set(gates)) if name},
    }


def claim_marks(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How many claims found no support, on each half of a set."""
    found = {}
    for name, half in (("answerable", True), ("unanswerable", False)):
        part = [o for o in outcomes if o.asked.answerable is half]
        claims = [c for o in part for c in o.result.claims]
        found[name] = {
            "questions": len(part),
            "answered": _share([o.result.status == "answered" for o in part]),
            "claims": len(claims),
            "unsupported": _share([not c.supported for c in claims]),
        }
    reasons = [o.result.reason for o in outcomes]
    return {**found, "reasons": {r: reasons.count(r) for r in sorted(set(reasons)) if r}}
