"""The run kind `structured`: N trials with and without the constraint, each through every stage, failures tried again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from interview.playground.kinds import engine_request
from interview.playground.many import traced
from interview.playground.structured.contracts import model_of, schema_of
from interview.playground.structured.given import checked
from interview.playground.structured.pipeline import (
    RETRIES,
    Attempt,
    judge,
    rates,
    retry_messages,
    system_prompt,
)
from interview.playground.structured.seen import shown
from interview.runs.chain import canonical_hash
from interview.runs.fits import check_fits
from interview.runs.kinds import JSON, InputRefused, Interrupted, Job, Kind, RunFailed, register

if TYPE_CHECKING:
    from engine import Result
    from engine.handle import Handle


def structured(job: Job) -> JSON:
    """Every condition in turn; the trials of one condition share their forward passes."""
    body = job.input
    job.trace["model"] = job.models.engine.card.to_dict()
    job.trace["constraint"] = {
        "kind": "schema",
        "sha256": canonical_hash(body["schema"]),
        "conditions": body["conditions"],
    }
    model = model_of(body)
    bench = Bench(job, model, body["schema"])
    began = time.perf_counter()
    found = {condition: bench.condition(condition) for condition in body["conditions"]}
    output: JSON = {
        "conditions": found,
        "steps": bench.steps,
        "usage": bench.usage,
        "seconds": round(time.perf_counter() - began, 3),
    }
    job.trace.update(
        usage=bench.usage,
        validation={name: part["rates"] for name, part in found.items()},
        attempts={name: part["trials"] for name, part in found.items()},
        **traced(job.models.engine, bench.results),
    )
    return output


def cancel_all(handles: list[Handle]) -> None:
    """Stop every text within a step."""
    for handle in handles:
        handle.cancel()


class Bench:
    """The state of one run: tokens spent, and the steps of the first constrained text."""

    def __init__(self, job: Job, model: Any, schema: Any) -> None:
        self.job, self.model, self.schema = job, model, schema
        self.steps: list[JSON] = []
        self.done = 0
        self.results: list[Result] = []  # every text in the order decoded: what a replay is compared by
        self.usage = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}

    def condition(self, name: str) -> JSON:
        """All trials of one condition, in waves: the first texts together, then the retries together."""
        body = self.job.input
        talks = [first_messages(body) for _ in range(body["trials"])]
        trials: list[list[Attempt]] = [[] for _ in talks]
        for wave in range(1 + RETRIES):
            open_trials = [i for i, attempts in enumerate(trials) if not attempts or not attempts[-1].valid]
            if not open_trials or self.job.halted:
                break
            with self.job.stage(
                f"{name}, {'first texts' if wave == 0 else f'retry {wave}'}", texts=len(open_trials)
            ):
                for i, attempt in zip(open_trials, self._wave(name, wave, open_trials, talks), strict=True):
                    trials[i].append(attempt)
                    talks[i] = retry_messages(talks[i], attempt)
        if self.job.stopping.is_set() and not self.job.cancelled.is_set():
            raise Interrupted
        done = [attempts for attempts in trials if attempts]
        return {
            "rates": rates(done),
            "trials": [[attempt.to_dict() for attempt in attempts] for attempts in done],
        }

    def _wave(self, name: str, wave: int, which: list[int], talks: list[list[JSON]]) -> list[Attempt]:
        from engine import EngineError

        handles: list[Handle] = []
        self.job.call_on_halt(lambda: cancel_all(handles))
        try:
            for i in which:
                handles.append(self.job.models.engine.submit(self._request(name, wave, i, talks[i])))
        except EngineError as error:
            cancel_all(handles)
            if wave == 0:
                raise RunFailed(error.message) from error
            # A conversation that outgrew the window ends this trial, not the run.
            return [Attempt("", 0, error=error.message) for _ in which]
        if self.job.halted:
            self.job.halt()
        watched = wave == 0 and name == "constrained"
        results = []
        for at, handle in enumerate(handles):
            results.append(self._followed(handle, watched and at == 0))
            stage = f"retry {wave}" if wave else "first texts"
            self._tell(f"{name}, {stage}: {at + 1} of {len(handles)}", first=wave == 0)
        return [self._judged(result) for result in results]

    def _tell(self, words: str, *, first: bool) -> None:
        """The bar counts first texts: how many retries there will be, nobody knows."""
        total = self.job.input["trials"] * len(self.job.input["conditions"])
        self.done += first
        self.job.emit("progress", {"done": self.done, "total": total, "words": words})

    def _request(self, name: str, wave: int, trial: int, talk: list[JSON]) -> Any:
        body = self.job.input
        sampling = {
            "temperature": body["temperature"],
            "max_tokens": body["max_tokens"],
            "seed": body["seed"] + trial + 1000 * wave,
            "logprobs": 1 if wave == 0 and trial == 0 and name == "constrained" else 0,
        }
        constraint = {"schema": self.schema} if name == "constrained" else {}
        return engine_request({"messages": talk, "sampling": sampling, **constraint})

    def _followed(self, handle: Handle, watched: bool) -> Result:
        from engine import FinishEvent, TokenEvent

        for event in handle:
            if isinstance(event, TokenEvent) and watched:
                allowed = next((step.kept for step in event.steps if step.name == "constraint"), None)
                self.steps.append(
                    {
                        "token": self.job.models.engine.tokenizer.label(event.token_id),
                        "masked": None if event.masked is None else round(event.masked, 6),
                        "allowed": allowed,
                        "forced": allowed == 1,
                    }
                )
            elif isinstance(event, FinishEvent):
                return event.result
        raise RunFailed("The model stopped without a result.")

    def _judged(self, result: Result) -> Attempt:
        for name in self.usage:
            self.usage[name] += result.usage[name]
        self.results.append(result)
        source = self.job.input["source"]
        return judge(
            result.text, result.finish_reason, len(result.token_ids), self.schema, self.model, source
        )


def check(body: JSON) -> JSON:
    """An input as it is stored, from the form or the API: complete, bounded, its schema the contract's own."""
    from engine import EngineError, Request
    from engine.schemas import check_enforceable, check_schema

    made = checked(body)
    model = model_of(made)
    made["schema"] = schema_of(model) if model is not None else made["schema"]
    try:
        (check_enforceable if "constrained" in made["conditions"] else check_schema)(made["schema"])
        check_fits(Request.from_dict({"messages": first_messages(made)}))
    except EngineError as error:
        raise InputRefused(error.code, error.message, (getattr(error, "field", None) or "schema",)) from error
    return made


def first_messages(body: JSON) -> list[JSON]:
    """What every first text answers: the schema, then the messages."""
    return [{"role": "system", "content": system_prompt(body["schema"])}, *body["messages"]]


register(
    Kind(
        name="structured",
        title="Structured output",
        execute=structured,
        check=check,
        page="playground:structured-output",
        replays=True,
        shown=shown,
    )
)
