"""The run kind `serving`: one request alone, two together, then the load; the first two are what predictions need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interview.playground.serving.form import ServingForm
from interview.playground.serving.load import Load, Seen
from interview.playground.serving.seen import shown
from interview.runs.kinds import JSON, InputRefused, Interrupted, Job, Kind, RunFailed, register

if TYPE_CHECKING:
    from engine import Engine, Request

TEXT = (
    "A server keeps the keys and values of every token that it has read, so that the next token needs one pass only. "
    "Requests that wait are admitted when memory is free, and those that run share each pass through the weights. "
    "A long prompt is read in chunks, lest it hold up the others, and a finished answer gives its memory back. "
)


def serving(job: Job) -> JSON:
    """Calibrate, then load."""
    from engine import EngineError

    engine, body = job.models.engine, job.input
    job.trace["model"] = engine.card.to_dict()
    try:
        # Distinct beginnings (numbers 900 and up), so that nothing of the calibration comes from the prefix cache.
        alone = _measured(job, "one alone", [_request(job, 900)], 1)
        both = [_request(job, 901), _request(job, 902)]
        pair = _measured(job, "two together", both, 2)
        requests = [_request(job, n) for n in range(body["requests"])]
        load = _measured(job, "the load", requests, body["concurrency"])
    except EngineError as error:
        raise RunFailed(error.message) from error
    output = {
        "alone": alone,
        "pair": pair,
        "load": load,
        "kv_bytes_per_token": engine.card.kv_bytes_per_token,
        "kv_bytes_limit": engine.loop.limits.kv_bytes,
        "threads": engine.stats()["threads"],
        "model": engine.card.name,
    }
    job.trace.update(
        alone=alone["served"], pair=pair["served"], served=load["served"], seconds=load["seconds"]
    )
    job.trace["usage"] = usage([one for part in (alone, pair, load) for one in part["served"]])
    return output


def usage(served: list[JSON]) -> JSON:
    """Tokens of every request, calibration included."""
    names = {
        "prompt_tokens": "prompt_tokens",
        "completion_tokens": "tokens",
        "cached_tokens": "cached_tokens",
    }
    return {name: sum(one[key] for one in served) for name, key in names.items()}


def _measured(job: Job, stage: str, requests: list[Request], clients: int) -> JSON:
    """Serve requests and halt with the job. Raises Interrupted when the worker stops."""
    load = Load(job.models.engine, requests, min(clients, len(requests)))
    job.call_on_halt(load.halt)

    def tell(seen: Seen, total: int) -> None:
        words = (
            f"{stage}: {seen.done} of {total} answers, {seen.running} in the batch, {seen.waiting} waiting"
        )
        job.emit("progress", {"done": seen.done, "total": total, "words": words})

    load.run(tell)
    if job.stopping.is_set() and not job.cancelled.is_set():
        raise Interrupted
    return load.to_dict()


def _request(job: Job, number: int) -> Request:
    """Prompt number n of the asked kind and length; greedy, and the end token is forbidden."""
    from engine import Request, Sampling

    engine, body = job.models.engine, job.input
    bias = dict.fromkeys(engine.tokenizer.eos_ids, -10000.0)
    return Request(
        prompt=prompt_text(engine, body["start"], body["prompt_tokens"], number, job.run.pk.hex[:6]),
        sampling=Sampling(max_tokens=body["output_tokens"], logit_bias=bias),
        speculate=0 if body["speculation"] == "off" else None,
    )


def prompt_text(engine: Engine, start: str, size: int, number: int, run: str) -> str:
    """About `size` tokens: a number first makes beginnings differ, a number last keeps them alike.

    The run stands beside the number, or the prefix cache would still hold what an earlier run asked.
    """
    numbered = f"Request {number} of {run}. "
    if start == "quotes":
        text = TEXT.partition(". ")[0] + ". "
        text = numbered + text * (2 + size // 20)
    else:
        text = TEXT * (1 + size // 60)
        text = numbered + text if start == "distinct" or number >= 900 else text
    ids = engine.tokenizer.encode(text)[: max(2, size - 6)]
    tail = f" {numbered}" if start == "shared" else ""
    return engine.tokenizer.decode(ids) + tail


def check(body: JSON) -> JSON:
    """An input that came through the API: the form's own rules."""
    unknown = sorted(set(body) - set(ServingForm.base_fields))
    form = ServingForm({**body, "idempotency_key": "api"})
    if unknown or not form.is_valid():
        name, messages = (unknown[0], ["unknown"]) if unknown else next(iter(form.errors.items()))
        raise InputRefused("invalid_request", f"{name}: {messages[0]}", (str(name),))
    checked: dict[str, Any] = form.request_body()
    return checked


register(
    Kind(
        name="serving",
        title="Serving",
        execute=serving,
        check=check,
        page="playground:serving",
        shown=shown,
        looks_inside=True,
    )
)
