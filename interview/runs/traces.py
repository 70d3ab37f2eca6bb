"""The trace of a run: one record with the same fields for every kind, written once when the run ends."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from engine.types import EngineError, Sampling
from interview import __version__
from interview.plain_text import storable_json
from interview.runs.chain import canonical_hash, chain_append
from interview.runs.models import Run, Trace

JSON = dict[str, Any]
FORMAT = "prefill-trace-2"
CONSTRAINTS = ("schema", "regex", "choices", "grammar", "quotes", "tools")
# What stays readable where a site keeps no texts in its traces; everything else is replaced by its hash.
WORDLESS = {
    "format", "run", "kind", "app_version", "policy", "state", "attempt", "history", "worker", "created", "started",
    "finished", "origin", "model", "machine", "template", "sampling", "seed", "constraint", "tools", "stages", "usage",
    "timings", "stats", "bill", "finish_reason",
}  # fmt: skip


def trace_write(run: Run, found: JSON) -> Trace:
    """Store what an ended run did, with its link of the chain; `found` is what the kind's `execute` noted."""
    body = storable_json(trace_body(run, found))
    if settings.TRACE_TEXT == "hash":
        body = without_words(body)
    digest = canonical_hash(body)
    return Trace.objects.create(run=run, body=body, hash=digest, entry=chain_append(run.pk, digest))


def trace_body(run: Run, found: JSON) -> JSON:
    """The record: every field is there for every kind, null where it doesn't apply."""
    fields: JSON = {
        "format": FORMAT,
        "run": str(run.pk),
        "kind": run.kind,
        "app_version": __version__,
        "policy": policy(),
        "state": run.state,
        "reason": run.reason,
        "attempt": run.attempt,
        "history": run.history,
        "worker": run.worker,
        "created": run.created.isoformat(),
        "started": run.started.isoformat() if run.started else None,
        "finished": run.finished.isoformat() if run.finished else None,
        "origin": run.origin,
        "model": None,
        "machine": None,
        "template": None,
        "request": run.input,
        "sampling": decoding(run.input),
        "seed": seed_of(run.input, found),
        "constraint": constraint_of(run.input),
        "tools": tools_of(run.input),
        "retrieval": None,
        "validation": None,
        "usage": None,
        "timings": None,
        "bill": bill(found.get("usage")),
    }
    return {**fields, **found, "stages": stages(run, found)}


def policy() -> JSON:
    """The rules in force: limits and prices; the version is their hash, so that a changed rule shows."""
    rules = {
        "queue_limit": settings.RUN_QUEUE_LIMIT,
        "parallel_limit": settings.RUN_PARALLEL_LIMIT,
        "tokens_per_day": settings.RUN_TOKENS_PER_DAY,
        "time_limit_seconds": settings.RUN_TIME_LIMIT_SECONDS,
        "trace_text": settings.TRACE_TEXT,
        "retention_days": settings.TRACE_RETENTION_DAYS,
    }
    return {"version": canonical_hash(rules)[:12], "rules": rules}


def decoding(request: JSON) -> JSON | None:
    """Every decoding parameter with the value it had, and the order of the steps; None without a generation."""
    sampling = request.get("sampling")
    if not isinstance(sampling, dict):
        return None
    try:
        return Sampling.from_dict(sampling).to_dict()
    except (EngineError, TypeError):
        return sampling


def seed_of(request: JSON, found: JSON) -> Any:
    """The seed that was used, drawn or given; one a choice where there were several."""
    stats = found.get("stats")
    if isinstance(stats, dict):
        return stats.get("seed")
    if isinstance(stats, list):
        return [one.get("seed") for one in stats]
    return request.get("seed", (request.get("sampling") or {}).get("seed"))


def constraint_of(request: JSON) -> JSON | None:
    """What the output was held to: its kind and hash."""
    for kind in CONSTRAINTS:
        if request.get(kind) is not None:
            return {"kind": kind, "sha256": canonical_hash(request[kind])}
    return None


def tools_of(request: JSON) -> list[JSON] | None:
    """Name and version of each declared tool; the version is the hash of its declaration."""
    tools = request.get("tools")
    if not isinstance(tools, list):
        return None
    declared = [tool.get("function", tool) if isinstance(tool, dict) else {"name": tool} for tool in tools]
    return [{"name": tool.get("name"), "version": canonical_hash(tool)[:12]} for tool in declared]


def bill(usage: JSON | None) -> JSON | None:
    """What the tokens would cost at the site's chosen prices; None where no prices are set or no tokens counted."""
    per_million = {"input": settings.PRICE_INPUT_USD, "output": settings.PRICE_OUTPUT_USD}
    if not usage or not any(per_million.values()):
        return None
    spent = usage["prompt_tokens"] * per_million["input"] + usage["completion_tokens"] * per_million["output"]
    return {"usd_per_million_tokens": per_million, "usd": round(spent / 1e6, 9)}


def stages(run: Run, found: JSON) -> list[JSON]:
    """What happened in which order and how long each took, in milliseconds."""
    listed: list[JSON] = []
    if run.started:
        listed.append({"name": "waiting in the queue", "ms": _ms(run.started - run.created)})
    timings = found.get("timings")
    if isinstance(timings, dict) and timings.get("ttft_ms") is not None:
        listed += _engine_stages(timings)
    listed += found.get("stages") or []
    if run.started and run.finished:
        listed.append({"name": "whole attempt", "ms": _ms(run.finished - run.started)})
    return listed


def _engine_stages(timings: JSON) -> list[JSON]:
    parts = [
        ("waiting for the batch", timings.get("queue_ms")),
        ("prefill", timings.get("prefill_ms")),
        ("decode", (timings.get("total_ms") or 0) - timings["ttft_ms"]),
    ]
    return [{"name": name, "ms": round(ms, 2)} for name, ms in parts if ms is not None]


def _ms(span: Any) -> float:
    return round(1000 * float(span.total_seconds()), 2)


def without_words(body: JSON) -> JSON:
    """The record with every text replaced by its hash: equality can still be proved, nothing can be read."""
    kept = {
        name: value if name in WORDLESS or value is None else erased(value) for name, value in body.items()
    }
    sampling = kept.get("sampling")
    if isinstance(sampling, dict) and sampling.get("stop"):
        kept["sampling"] = {**sampling, "stop": erased(sampling["stop"])}
    return kept


def erased(value: Any) -> JSON:
    """What stands for a text that isn't kept."""
    return {"erased": True, "sha256": canonical_hash(value)}
