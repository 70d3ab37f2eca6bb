"""Many requests at once: all go to the loop together, so that they share forward passes; progress goes out meanwhile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from interview.runs.kinds import JSON, Interrupted, Job, RunFailed

if TYPE_CHECKING:
    from engine import Engine, Request, Result
    from engine.handle import Handle

POLL_SECONDS = 0.2
KEPT_STATS = ("seed", "batch_size_max", "batch_sizes")


def ask_many(job: Job, requests: Sequence[Request], *, together: int | None = None) -> list[Result]:
    """Every result, in the order of the requests, all at once or so many `together`. Raises RunFailed, Interrupted."""
    if together is None:
        return _asked(job, requests)
    groups = [requests[n : n + together] for n in range(0, len(requests), together)]
    return [result for group in groups for result in _asked(job, group)]


def _asked(job: Job, requests: Sequence[Request]) -> list[Result]:
    from engine import EngineError

    handles: list[Handle] = []
    job.call_on_halt(lambda: _cancel(handles))
    try:
        for request in requests:
            handles.append(job.models.engine.submit(request))
    except EngineError as error:
        _cancel(handles)
        raise RunFailed(error.message) from error
    if job.halted:
        job.halt()
    progress, results = Progress(job, len(handles)), []
    for handle in handles:
        results.append(_waited(handle))
        progress.tell(len(results))
    if job.stopping.is_set() and not job.cancelled.is_set():
        raise Interrupted
    failed = next((result.error for result in results if result.finish_reason == "error"), None)
    if failed:
        raise RunFailed(failed.get("message") or "The model failed while generating.")
    return results


def _cancel(handles: Sequence[Handle]) -> None:
    for handle in handles:
        handle.cancel()


class Progress:
    """Tells how many answers are there, ten times a second at most, and the last."""

    def __init__(self, job: Job, total: int) -> None:
        self.job, self.total, self.told = job, total, 0.0

    def tell(self, done: int) -> None:
        """`done` answers are there."""
        now = time.monotonic()
        if done < self.total and now - self.told < 0.1:
            return
        self.told = now
        words = f"{done} of {self.total} answers"
        self.job.emit("progress", {"done": done, "total": self.total, "words": words})


def _waited(handle: Handle) -> Result:
    while True:
        try:
            return handle.result(timeout=POLL_SECONDS)
        except TimeoutError:
            continue


def tokens_of(results: Sequence[Result]) -> JSON:
    """Tokens in and out, and how many requests shared a step on average."""
    sizes = [r.stats["batch_size_mean"] for r in results if r.stats.get("batch_size_mean")]
    return {
        "prompt_tokens": sum(r.usage["prompt_tokens"] for r in results),
        "completion_tokens": sum(r.usage["completion_tokens"] for r in results),
        "cached_tokens": sum(r.usage["cached_tokens"] for r in results),
        "batch_size_mean": round(sum(sizes) / len(sizes), 2) if sizes else None,
    }


def traced(engine: Engine, results: Sequence[Result]) -> JSON:
    """For the trace: every answer by token, its seed, and how many requests shared its forward passes."""
    return {
        "choices": [{"per_token": rows_of(engine, result)} for result in results],
        "stats": [{name: result.stats.get(name) for name in KEPT_STATS} for result in results],
    }


def rows_of(engine: Engine, result: Result) -> list[list[object]]:
    """An answer for the trace: place, id and text of each token, which is what a replay is compared by."""
    return [[place, token, engine.tokenizer.label(token)] for place, token in enumerate(result.token_ids)]
