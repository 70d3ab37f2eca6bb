"""What the playground runs: `generate` here, the other pages' kinds beside their pages."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from interview.plain_text import is_blank
from interview.playground.generated import shown
from interview.runs.fits import check_fits
from interview.runs.kinds import JSON, InputRefused, Interrupted, Job, Kind, RunFailed, register

if TYPE_CHECKING:
    from engine import Engine, Request, Result, TokenEvent
    from engine.handle import Handle

# Keys of a run's input that are the site's own; the engine never sees them.
SITE_KEYS = ("fork", "template")
SHOWN_PROMPT_TOKENS = 600
# What a request says of its text; the rest says how to go on.
TEXT_KEYS = ("prompt", "messages", "allow_special", "continue_ids")


def generate(job: Job) -> JSON:
    """Run one generation on the worker's engine, streaming each token as an event."""
    request = engine_request(job.input)
    job.trace["model"] = job.models.engine.card.to_dict()
    handle = submitted(job, request)
    prompt = prompt_seen(job.models.engine, request)
    if "template" in job.input:
        job.trace["prompt_template"] = job.input["template"]
    result, tokens, steps = follow(job, handle, prompt)
    job.trace.update(result.to_dict(), per_token=tokens)
    end_unless_done(job, result)
    return {**result.to_dict(), "per_token": tokens, "steps": steps, "prompt": prompt}


def engine_request(body: JSON) -> Request:
    """The engine's part of a run's input. Raises RunFailed for one that an engine refuses."""
    from engine import EngineError, Request

    try:
        return Request.from_dict({key: value for key, value in body.items() if key not in SITE_KEYS})
    except EngineError as error:
        raise RunFailed(error.message) from error


def submitted(job: Job, request: Request) -> Handle:
    """The request in the loop, cancelled with the job. Raises RunFailed."""
    from engine import EngineError

    try:
        handle = job.models.engine.submit(request)
    except EngineError as error:
        raise RunFailed(error.message) from error
    job.call_on_halt(handle.cancel)
    return handle


def prompt_seen(engine: Engine, request: Request) -> JSON:
    """The prompt as the model reads it: its tokens (the first and last where there are many), the window, KV bytes.

    Empty with a remote model, which doesn't show them.
    """
    from engine import chat

    if getattr(engine, "tokenizer", None) is None:
        return {"count": 0, "parts": [], "tokens": [], "window": 0, "kv_bytes_per_token": 0}
    _, ids = chat.render(engine.tokenizer, request)
    half = SHOWN_PROMPT_TOKENS // 2
    shown = ids if len(ids) <= SHOWN_PROMPT_TOKENS else [*ids[:half], *ids[-half:]]
    return {
        "count": len(ids),
        "parts": prompt_parts(engine, request),
        "left_out": len(ids) - len(shown),
        "continued": len(request.continue_ids),
        "tokens": [[i, engine.tokenizer.label(i), i in engine.tokenizer.special_ids] for i in shown],
        "window": engine.card.context_length,
        "kv_bytes_per_token": engine.card.kv_bytes_per_token,
    }


def prompt_parts(engine: Engine, request: Request) -> list[list[object]]:
    """Tokens of each message with its share of the template, and of what opens the answer; empty for a raw prompt."""
    from engine.chat import message_tokens

    if not request.messages or request.tools:
        return []
    counts, opening = message_tokens(engine.tokenizer, request.messages, allow_special=request.allow_special)
    parts: list[list[object]] = [[m.role, n] for m, n in zip(request.messages, counts, strict=True)]
    return [
        *parts,
        ["answer begins", opening],
        *([["kept", len(request.continue_ids)]] if request.continue_ids else []),
    ]


def follow(job: Job, handle: Handle, prompt: JSON) -> tuple[Result, list[list[object]], list[JSON]]:
    """Every event until the end: tokens go out at once; what was weighed up is kept for the result."""
    from engine import FinishEvent, StartEvent, TokenEvent

    tokens: list[list[object]] = []
    steps: list[JSON] = []
    for event in handle:
        if isinstance(event, StartEvent):
            meters = {key: prompt[key] for key in ("window", "kv_bytes_per_token")}
            job.emit("prompt", {"tokens": event.prompt_tokens, "cached": event.cached_tokens, **meters})
        elif isinstance(event, TokenEvent):
            tokens.append([event.index, event.token_id, event.text, event.logprob, round(event.at_ms, 2)])
            steps.append(step_seen(event))
            job.emit(
                "token",
                {"i": event.index, "id": event.token_id, "text": event.text, "logprob": event.logprob},
            )
        elif isinstance(event, FinishEvent):
            return event.result, tokens, steps
    raise RunFailed("The model stopped without a result.")


def step_seen(event: TokenEvent) -> JSON:
    """What stood beside a token: entropy in nats, the filters in order, the candidates with their odds after each."""
    return {
        "entropy": short(event.entropy),
        "masked": short(event.masked),
        "steps": [[step.name, step.kept] for step in event.steps],
        "top": [
            [
                a.token_id,
                a.text,
                short(a.probability),
                short(a.kept),
                [short(p) for p in a.after],
            ]
            for a in event.alternatives
        ],
    }


def short(number: float | None) -> float | None:
    """Five significant digits: enough to show, a third of the bytes."""
    return None if number is None else float(f"{number:.5g}")


def end_unless_done(job: Job, result: Result) -> None:
    """Raises Interrupted when the worker is stopping, RunFailed when the engine failed."""
    if job.stopping.is_set() and not job.cancelled.is_set() and result.finish_reason == "cancelled":
        raise Interrupted
    if result.finish_reason == "error":
        raise RunFailed((result.error or {}).get("message") or "The model failed while generating.")


def check(body: JSON) -> JSON:
    """A generation's input as it is stored; the engine's own validation speaks first."""
    from engine import EngineError, Request
    from engine.schemas import check_constraint

    try:
        request = Request.from_dict(body)
        check_constraint(request)
        check_fits(request)
    except EngineError as error:
        field = getattr(error, "field", None)
        raise InputRefused(error.code, error.message, (str(field),) if field else ()) from error
    refuse_blank(body)
    return body


def check_text(body: JSON, own: Collection[str], *, most: int | None = None) -> None:
    """A text to read and nothing that would be without effect; `own` are the kind's other keys. Raises InputRefused."""
    from engine import EngineError, Request

    unknown = sorted(set(body) - {*TEXT_KEYS, *own})
    if unknown:
        allowed = ", ".join((*TEXT_KEYS, *own))
        raise InputRefused(
            "unknown_key", f"Unknown key {unknown[0]!r}. Allowed: {allowed}.", (str(unknown[0]),)
        )
    try:
        check_fits(Request.from_dict({key: body[key] for key in TEXT_KEYS if key in body}), most=most)
    except EngineError as error:
        field = getattr(error, "field", None)
        raise InputRefused(error.code, error.message, (str(field),) if field else ()) from error
    refuse_blank(body)


def refuse_blank(body: JSON) -> None:
    """The API refuses what the form refuses. Raises InputRefused."""
    texts: list[Any] = [
        message["content"] for message in body.get("messages") or [{"content": body.get("prompt")}]
    ]
    if is_blank("".join(texts)):
        raise InputRefused(
            "empty_prompt", "The prompt holds nothing that can be seen. Write something.", ("messages",)
        )


register(
    Kind(
        name="generate",
        title="Generate",
        execute=generate,
        check=check,
        page="playground:generate",
        replays=True,
        shown=shown,
    )
)
