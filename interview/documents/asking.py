"""What the worker does with a question: search, pack, ask the engine, and tie its citations to documents and pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interview.documents.packing import Packed, pack
from interview.documents.searching import Found, search
from interview.runs.kinds import JSON, Interrupted, Job, RunFailed

NOTHING = "None of the chosen documents can be asked: they are not ready, or not there for you any more."


def run_search(job: Job) -> JSON:
    """The nearest passages with their scores."""
    body = job.input
    found = search(job.run.owner, body["question"], body, job.models.embedder, body["most"])
    job.trace["timings"] = found.timings
    job.trace["retrieval"] = _retrieved(found)
    return _searched(found)


def run_ask(job: Job) -> JSON:
    """A grounded answer or an abstention, with the gates that decided and everything that was considered."""
    from engine import EngineError
    from engine.ask import ask
    from engine.types import Passage

    body, models = job.input, job.models
    found = search(job.run.owner, body["question"], body, models.embedder, body["most"])
    if not found.n_documents:
        raise RunFailed(NOTHING)
    packed = pack(models.engine, body["question"], found.hits)
    job.trace["model"] = models.engine.card.to_dict()
    job.trace["search"] = _searched(found)
    job.trace["retrieval"] = _retrieved(found)
    try:
        result = ask(
            models.engine,
            models.embedder,
            body["question"],
            [Passage(name, hit.text) for name, hit in packed.passages.items()],
            style=body["style"],
            on_event=_relay(job),
            cancelled=lambda: job.halted,
        )
    except EngineError as error:
        raise RunFailed(error.message) from error
    if job.stopping.is_set() and not job.cancelled.is_set() and result.reason == "cancelled":
        raise Interrupted
    told = result.to_dict()
    job.trace["ask"] = told
    job.trace["usage"] = told["usage"]
    job.trace["validation"] = {
        "gates": {gate.name: gate.passed for gate in result.gates},
        "claims": {"made": len(result.claims), "supported": sum(claim.supported for claim in result.claims)},
    }
    output = {**told, **_searched(found), "sources": _sources(packed), "budget": packed.budget}
    output["timings"] = {**found.timings, **told["timings"]}
    return output


def _searched(found: Found) -> JSON:
    return {
        "hits": [hit.to_dict() for hit in found.hits],
        "n_documents": found.n_documents,
        "n_passages": found.n_passages,
        "timings": found.timings,
    }


def _retrieved(found: Found) -> JSON:
    """For the trace: the index that was searched, and which passages of which document came out in which order."""
    return {
        "index": found.index,
        "passages": found.n_passages,
        "hits": [
            {"document": hit.document, "start": hit.start, "end": hit.end, "score": hit.score}
            for hit in found.hits
        ],
    }


def _sources(packed: Packed) -> dict[str, Any]:
    """By the id of this request: where a passage stands."""
    return {
        name: {
            "document": hit.document,
            "name": hit.name,
            "start": hit.start,
            "end": hit.end,
            "text": hit.text,
        }
        for name, hit in packed.passages.items()
    }


def _relay(job: Job) -> Callable[[str, dict[str, Any]], None]:
    """Stream what the engine tells: text as tokens, gates as they decide."""
    count = [0]

    def relay(name: str, data: dict[str, Any]) -> None:
        if name == "token":
            job.emit("token", {"i": count[0], "id": "", "text": data["text"], "logprob": data.get("logprob")})
            count[0] += 1
        elif name == "gate":
            job.emit("gate", data)

    return relay
