"""Grounded answers: retrieval floor, reader, an answer in one of three styles, a verifier. Or an abstention.

Each step is a gate that records its number. Passages are data: nothing in them changes what is done with them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.answers import STYLES, AskResult, Citation, Claim, Considered, Gate, Style
from engine.asking import Asking, Cancelled
from engine.errors import InvalidRequest
from engine.pieces import in_pieces
from engine.relevance import consider
from engine.thresholds import Thresholds, load_thresholds
from engine.types import Passage

if TYPE_CHECKING:
    from engine.embeddings import Embedder
    from engine.llm import Engine

__all__ = ["STYLES", "AskResult", "Citation", "Claim", "Considered", "Gate", "ask"]

VERSION = "1"
MAX_QUESTION = 2000
MAX_PASSAGES = 64
MAX_TEXT = 200_000
READ = 3  # passages that the reader looks at
OnEvent = Callable[[str, dict[str, Any]], None]


def ask(
    engine: Engine,
    embedder: Embedder,
    question: str,
    passages: Sequence[Passage],
    style: Style = "quote",
    on_event: OnEvent | None = None,
    cancelled: Callable[[], bool] | None = None,
    *,
    seed: int | None = None,
    thresholds: Thresholds | None = None,
) -> AskResult:
    """Answers a question from passages, or abstains.

    `on_event(name, data)` is told of each "gate", "passages", "token" and "claim"; `cancelled()` is asked between
    steps. `seed` fixes the minted ids. In the free style the first two gates are recorded but stop nothing.
    Raises `InvalidRequest` for a question or passages that can't be used.
    """
    check(question, passages, style)
    if not hasattr(engine, "decoder"):
        raise InvalidRequest(
            "local_model_needed",
            "the reader and quotes need the local model; start without ENGINE_URL",
            "model",
        )
    job = Asking(
        engine,
        embedder,
        question.strip(),
        style,
        on_event or (lambda *_: None),
        cancelled or (lambda: False),
        thresholds or load_thresholds(),
        random.Random(seed),
    )
    started = time.perf_counter()
    try:
        outcome = _run(job, passages)
    except Cancelled:
        outcome = ("cancelled", ())
    job.timings["total_ms"] = 1000 * (time.perf_counter() - started)
    return _result(job, *outcome)


def check(question: object, passages: Sequence[Passage], style: str) -> None:
    """Refuses what can't be asked. Raises `InvalidRequest`."""
    if not isinstance(question, str) or not question.strip() or len(question) > MAX_QUESTION:
        raise InvalidRequest(
            "invalid_question", f"question must be text of 1 to {MAX_QUESTION} characters", "question"
        )
    if style not in STYLES:
        raise InvalidRequest("invalid_style", f"style is {style!r}; allowed: {', '.join(STYLES)}", "style")
    if len(passages) > MAX_PASSAGES or sum(len(p.text) for p in passages) > MAX_TEXT:
        raise InvalidRequest(
            "too_many_passages", f"at most {MAX_PASSAGES} passages and {MAX_TEXT} characters", "passages"
        )
    if len({p.id for p in passages}) < len(passages):
        raise InvalidRequest("invalid_passages", "two passages have the same id", "passages")


def _run(job: Asking, passages: Sequence[Passage]) -> tuple[str, tuple[Claim, ...]]:
    """The reason for an abstention ('' for an answer) and the claims."""
    job.pieces = in_pieces(passages)
    given = job.pieces.passages
    if not given:
        return "no_passages", ()
    with job.timed("retrieval_ms"):
        job.considered = consider(job.question, given, job.embedder)
    ranked = sorted(zip(job.considered, given, strict=True), key=lambda pair: -pair[0].relevance)
    gate = job.gate("retrieval", ranked[0][0].relevance, job.thresholds.relevance)
    if not gate.passed and job.style != "free":
        return "off_topic", ()
    chosen = [passage for _, passage in ranked[:READ]]
    with job.timed("reading_ms"):
        best = job.read(chosen)
    gate = job.gate("stated", *best.gate)
    if not gate.passed and job.style != "free":
        return "not_stated", ()
    reason, claims = job.answer(best, chosen)
    if reason:
        return reason, claims
    share = sum(c.supported for c in claims) / max(1, len(claims))
    # One supported claim is enough to answer with; what isn't supported is struck out.
    if not job.gate("support", share, 1 / (len(claims) + 1)).passed:
        return "unsupported", claims
    return "", claims


def _result(job: Asking, reason: str, claims: tuple[Claim, ...]) -> AskResult:
    kept = [c for c in claims if c.supported]
    answered = not reason and bool(kept)
    cited = tuple(dict.fromkeys(c.citation for c in kept if c.citation)) if answered else ()
    considered = job.pieces.considered(job.considered, job.stated)
    return AskResult(
        status="answered" if answered else "abstained",
        answer=" ".join(c.text for c in kept) if answered else "",
        reason=reason,
        citations=cited,
        claims=claims,
        support=len(kept) / len(claims) if claims else 0.0,
        gates=tuple(job.gates),
        style=job.style,
        passages=tuple(sorted(considered, key=lambda c: -c.relevance)),
        versions=_versions(job),
        usage=_usage(job.results),
        timings=job.timings,
        results=tuple(job.results),
    )


def _versions(job: Asking) -> dict[str, Any]:
    card = job.engine.card
    return {
        "ask": VERSION,
        "thresholds": job.thresholds.to_dict(),
        "model": {"name": card.name, "sha256": card.sha256},
        "adapter": job.adapter.key if job.adapter else None,
    }


def _usage(results: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return {name: sum(r["usage"].get(name, 0) for r in results) for name in names}
