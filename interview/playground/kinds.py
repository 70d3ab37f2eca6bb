"""The run kind `generate`: a prompt goes in, tokens stream out, everything is written down."""

from __future__ import annotations

from interview.runs.kinds import JSON, InputRefused, Interrupted, Job, Kind, RunFailed, register


def generate(job: Job) -> JSON:
    """Run one generation on the worker's engine, streaming each token as an event."""
    from engine import EngineError, FinishEvent, Request, StartEvent, TokenEvent

    engine = job.models.engine
    job.trace["model"] = engine.card.to_dict()
    try:
        handle = engine.submit(Request.from_dict(job.input))
    except EngineError as error:
        raise RunFailed(error.message) from error
    job.call_on_halt(handle.cancel)
    tokens: list[list[object]] = []
    for event in handle:
        if isinstance(event, StartEvent):
            job.trace["rendered_prompt"] = event.rendered_prompt
            job.emit("prompt", {"tokens": event.prompt_tokens, "cached": event.cached_tokens})
        elif isinstance(event, TokenEvent):
            tokens.append([event.index, event.token_id, event.text, event.logprob, round(event.at_ms, 2)])
            job.emit(
                "token",
                {"i": event.index, "id": event.token_id, "text": event.text, "logprob": event.logprob},
            )
        elif isinstance(event, FinishEvent):
            result = event.result
    job.trace.update(result.to_dict(), per_token=tokens)
    if job.stopping.is_set() and not job.cancelled.is_set() and result.finish_reason == "cancelled":
        raise Interrupted
    if result.finish_reason == "error":
        raise RunFailed(result.error or "The model failed while generating.")
    return {**result.to_dict(), "per_token": tokens}


def check(body: JSON) -> JSON:
    """A generation's input as it is stored; the engine's own validation speaks first."""
    from engine import EngineError, Request
    from engine.schemas import check_enforceable

    try:
        request = Request.from_dict(body)
        if request.schema is not None:
            check_enforceable(request.schema)
    except EngineError as error:
        field = getattr(error, "field", None)
        raise InputRefused(error.code, error.message, (str(field),) if field else ()) from error
    return body


register(Kind(name="generate", title="Generate", execute=generate, check=check))
