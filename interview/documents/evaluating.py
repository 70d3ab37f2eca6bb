"""What the worker does with a question set: each question grounded in passages and without them, then the figures."""

from __future__ import annotations

import time
from typing import Any, cast

from interview.documents import scoring
from interview.documents.models import Evaluation
from interview.documents.packing import pack
from interview.documents.searching import Hit, Index, rank, search
from interview.documents.terms import terms
from interview.runs.kinds import JSON, Interrupted, Job, RunFailed

MOST = 5  # passages a question
UNGROUNDED_TOKENS = 40
UNGROUNDED = (
    "Answer the question in a few words. If you do not know, say: I do not know.\n\nQuestion: {question}"
)
DOES_NOT_KNOW = ("do not know", "don't know", "not sure", "cannot answer", "can't answer", "no information")
Item = dict[str, Any]


def run_evaluation(job: Job) -> JSON:
    """Every question both ways, with progress; stopped, it keeps nothing."""
    evaluation = Evaluation.objects.filter(run=job.run).first()
    if evaluation is None:
        raise RunFailed("The evaluation was deleted.")
    corpus = Corpus(job, evaluation)
    grounded: list[Item] = []
    alone: list[Item] = []
    started = time.perf_counter()
    versions: dict[str, Any] = {}
    for number, item in enumerate(evaluation.questions, 1):
        if job.halted:
            if job.stopping.is_set() and not job.cancelled.is_set():
                raise Interrupted
            return {}
        row, versions = _grounded(job, evaluation, corpus, item)
        grounded.append(row)
        alone.append(_alone(job, item))
        job.emit("progress", {"done": number, "of": len(evaluation.questions)})
    output: JSON = {
        "grounded": scoring.summary(grounded),
        "alone": scoring.summary(alone),
        "risk_coverage": {
            "grounded": scoring.risk_coverage(grounded),
            "alone": scoring.risk_coverage(alone),
        },
        "rows": [
            {**g, "alone": a["answer"], "alone_f1": a["f1"]} for g, a in zip(grounded, alone, strict=True)
        ],
        "versions": versions,
        "seconds": round(time.perf_counter() - started, 1),
    }
    job.trace["figures"] = {name: output[name] for name in ("grounded", "alone", "versions", "seconds")}
    return output


class Corpus:
    """Where a set's passages come from: its own contexts, or the documents chosen for it."""

    def __init__(self, job: Job, evaluation: Evaluation) -> None:
        self.job, self.evaluation = job, evaluation
        self.texts = list(dict.fromkeys(q["context"] for q in evaluation.questions if q["context"]))
        self.index: Index | None = None
        if self.texts:
            vectors = job.models.embedder.encode(self.texts)
            rows = [
                (i, "", text, vectors[i].astype("float16").tobytes()) for i, text in enumerate(self.texts)
            ]
            self.index = Index(rows)

    def hits(self, item: Item) -> tuple[list[Hit], bool | None]:
        """The nearest passages, and whether the question's own is among them (unknown for documents)."""
        if self.index is None:
            found = search(
                self.job.run.owner,
                item["question"],
                self.evaluation.selection,
                self.job.models.embedder,
                MOST,
            )
            return found.hits, None
        vector = self.job.models.embedder.encode([item["question"]])[0]
        ranked = rank(self.index, terms(item["question"]), vector, MOST)
        hits = [self._hit(found.key, found.score) for found in ranked]
        return hits, item["context"] in {hit.text for hit in hits}

    def _hit(self, key: int, score: float) -> Hit:
        text = self.texts[key]
        return Hit(key, "", f"passage {key + 1}", 1, "", "", text, 0, len(text), score, 0, 0, 0, 0, [])


def _grounded(job: Job, evaluation: Evaluation, corpus: Corpus, item: Item) -> tuple[Item, dict[str, Any]]:
    from engine.answers import Style
    from engine.ask import ask
    from engine.types import Passage

    hits, retrieved = corpus.hits(item)
    packed = pack(job.models.engine, item["question"], hits)
    result = ask(
        job.models.engine,
        job.models.embedder,
        item["question"],
        [Passage(name, hit.text) for name, hit in packed.passages.items()],
        style=cast(Style, evaluation.style),
        cancelled=lambda: job.halted,
    )
    stated = [gate.value for gate in result.gates if gate.name == "stated"]
    row = _row(item, result.answer, abstained=result.status == "abstained")
    row |= {
        "retrieved": retrieved,
        "reason": result.reason,
        "confidence": stated[0] if stated else 0.0,
        "n_claims": len(result.claims),
        "n_unsupported": sum(not claim.supported for claim in result.claims),
    }
    told = " ".join(claim.text for claim in result.claims) or result.answer
    row["told_f1"] = scoring.f1(told, item["answers"])
    return row, result.versions


def _alone(job: Job, item: Item) -> Item:
    """The model by itself: the same question without any passage."""
    from engine import Request

    result = job.models.engine.generate(
        Request.from_dict(
            {
                "messages": [{"role": "user", "content": UNGROUNDED.format(question=item["question"])}],
                "sampling": {"temperature": 0, "max_tokens": UNGROUNDED_TOKENS, "logprobs": 1},
            }
        )
    )
    answer = result.text.strip()
    row = _row(item, answer, abstained=any(words in answer.lower() for words in DOES_NOT_KNOW) or not answer)
    return row | {
        "retrieved": None,
        "reason": "",
        "confidence": 1 / (1 + len(answer)),
        "n_claims": 0,
        "n_unsupported": 0,
        "told_f1": row["f1"],
    }


def _row(item: Item, answer: str, *, abstained: bool) -> Item:
    return {
        "question": item["question"],
        "answers": item["answers"],
        "answer": "" if abstained else answer,
        "abstained": abstained,
        "exact": 0.0 if abstained else scoring.exact(answer, item["answers"]),
        "f1": 0.0 if abstained else scoring.f1(answer, item["answers"]),
    }
