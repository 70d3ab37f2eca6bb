"""The run kind `chat`: one prompt, n choices decoded side by side, each token an event that names its choice."""

from __future__ import annotations

import math
import queue
import secrets
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from interview.runs.kinds import JSON, Interrupted, Job, Kind, RunFailed, register

TINY = 1e-300  # what is left of a probability that underflowed

if TYPE_CHECKING:
    from engine import Engine, Event, Handle, Request, Result, TokenEvent


def chat(job: Job) -> JSON:
    """Run the choices on the worker's engine; usage counts the prompt once, as OpenAI bills it."""
    from engine import EngineError, FinishEvent, StartEvent, TokenEvent

    engine = job.models.engine
    job.trace["model"] = engine.card.to_dict()
    handles: list[Handle] = []
    try:
        for request in requests(job.input):
            handles.append(engine.submit(request))
    except EngineError as error:
        cancel_all(handles)
        job.trace["error"] = error.to_dict()
        raise RunFailed(error.message) from error
    job.call_on_halt(lambda: cancel_all(handles))
    choices = [Choice(index, job) for index in range(len(handles))]
    for index, event in merged(handles):
        if isinstance(event, StartEvent) and index == 0:
            job.trace["rendered_prompt"] = event.rendered_prompt
            job.emit("prompt", {"tokens": event.prompt_tokens, "cached": event.cached_tokens})
        elif isinstance(event, TokenEvent):
            choices[index].token(engine, event)
        elif isinstance(event, FinishEvent):
            choices[index].finish(event.result)
    return _ended(job, choices)


def cancel_all(handles: list[Handle]) -> None:
    """Stop every choice within a step."""
    for handle in handles:
        handle.cancel()


def requests(body: JSON) -> list[Request]:
    """One engine request a choice; the seed, given or drawn, fixes every choice."""
    from engine import Request

    rest = {key: value for key, value in body.items() if key != "n"}
    seed = body["sampling"].get("seed", secrets.randbits(53))
    made = []
    for index in range(body["n"]):
        sampling = {**body["sampling"], "seed": (seed + index) % 2**63}
        made.append(Request.from_dict({**rest, "sampling": sampling}))
    return made


def merged(handles: list[Handle]) -> Iterator[tuple[int, Event]]:
    """(choice, event) of all handles as they come."""
    if len(handles) == 1:
        yield from ((0, event) for event in handles[0])
        return
    events: queue.SimpleQueue[tuple[int, Event] | None] = queue.SimpleQueue()

    def pump(index: int, handle: Handle) -> None:
        for event in handle:
            events.put((index, event))
        events.put(None)

    for index, handle in enumerate(handles):
        threading.Thread(target=pump, args=(index, handle), daemon=True).start()
    left = len(handles)
    while left:
        item = events.get()
        if item is None:
            left -= 1
        else:
            yield item


class Choice:
    """One of the answers while it is made."""

    def __init__(self, index: int, job: Job) -> None:
        self.index, self.job = index, job
        self.wanted: int | None = job.input["sampling"].get("logprobs") or None
        self.rows: list[list[Any]] = []
        self.logprobs: list[JSON] = []
        self.result: Result | None = None

    def token(self, engine: Engine, event: TokenEvent) -> None:
        """Note a token and send it on."""
        self.rows.append([event.index, event.token_id, event.text, event.logprob, round(event.at_ms, 2)])
        sent: JSON = {
            "i": event.index,
            "id": event.token_id,
            "text": event.text,
            "logprob": event.logprob,
            "c": self.index,
        }
        # A remote model shows no tokenizer; it sends text and never the token that ends it.
        tokenizer = getattr(engine, "tokenizer", None)
        if self.wanted and not (tokenizer and event.token_id in tokenizer.eos_ids):
            label = tokenizer.label(event.token_id) if tokenizer else event.text
            sent["lp"] = entry(event, label, self.wanted)
            self.logprobs.append(sent["lp"])
        self.job.emit("token", sent)

    def finish(self, result: Result) -> None:
        self.result = result

    @property
    def done(self) -> Result:
        assert self.result is not None, "every handle ends with its result"
        return self.result

    def to_dict(self) -> JSON:
        """The choice as the run stores it."""
        return {
            "index": self.index,
            "text": self.done.text,
            "finish_reason": self.done.finish_reason,
            "parsed": self.done.parsed,
            "seed": self.done.stats.get("seed"),
            "completion_tokens": self.done.usage["completion_tokens"],
            "logprobs": self.logprobs if self.wanted else None,
            "per_token": self.rows,
        }


def entry(event: TokenEvent, label: str, count: int) -> JSON:
    """A token's log-probability with those of the likeliest, in OpenAI's shape."""
    top = [
        _scored(a.text, event.logprob if a.token_id == event.token_id else math.log(max(a.probability, TINY)))
        for a in event.alternatives
    ]
    return {**_scored(label, event.logprob), "top_logprobs": top[:count]}


def _scored(token: str, logprob: float | None) -> JSON:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode("utf-8", "replace"))}


def _ended(job: Job, choices: list[Choice]) -> JSON:
    results = [choice.done for choice in choices]
    first = results[0]
    usage = {
        "prompt_tokens": first.usage["prompt_tokens"],
        "completion_tokens": sum(result.usage["completion_tokens"] for result in results),
        "cached_tokens": first.usage["cached_tokens"],
    }
    output: JSON = {
        "text": first.text,
        "finish_reason": first.finish_reason,
        "choices": [choice.to_dict() for choice in choices],
        "usage": usage,
        "timings": first.timings,
        "per_token": choices[0].rows,
    }
    job.trace.update(output, stats=[result.stats for result in results])
    if job.stopping.is_set() and not job.cancelled.is_set() and first.finish_reason == "cancelled":
        raise Interrupted
    failed = next((result for result in results if result.finish_reason == "error"), None)
    if failed is not None:
        job.trace["error"] = failed.error or {}
        raise RunFailed((failed.error or {}).get("message", "The model failed while generating."))
    return output


register(Kind(name="chat", title="API completion", execute=chat, replays=True))
