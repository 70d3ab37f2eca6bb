"""The run kind `measure`: a calculator's prediction held against the local model, in a worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from interview.calculators.formulas.registry import CALCULATORS, Outcome
from interview.calculators.formulas.registry import run as work_out
from interview.calculators.measuring import (
    attention,
    kv_cache,
    latency,
    parameters,
    sampling,
    speculative,
    tokens,
)
from interview.calculators.measuring.local import Halted
from interview.calculators.measuring.proof import Proof
from interview.runs.kinds import JSON, InputRefused, Job, Kind, RunFailed, register

KIND = "measure"
LONGEST_PROMPT = 4000


@dataclass(frozen=True)
class Measure:
    """How one calculator is measured; `prompt` is the text it runs on where the asker may choose it."""

    plan: Callable[[Any], JSON]
    measure: Callable[[Job, JSON], Proof]
    says: str
    prompt: str = ""


MEASURES: dict[str, Measure] = {
    "tokens": Measure(
        tokens.plan,
        tokens.measure,
        "The local model reads this text or chat, and the ids it was given are compared one by one.",
    ),
    "kv-cache": Measure(
        kv_cache.plan,
        kv_cache.measure,
        "Requests of this length run on the local model, and the tensors that hold their cache are measured.",
    ),
    "attention": Measure(
        attention.plan,
        attention.measure,
        "The local model reads a prompt and one of twice its length; time is held against FLOPs.",
    ),
    "parameters": Measure(
        parameters.plan,
        parameters.measure,
        "Every number in the local model’s file is counted, part by part.",
    ),
    "sampling": Measure(
        sampling.plan,
        sampling.measure,
        "Your settings draw from the local model’s next token; each share is held against its probability.",
        sampling.PROMPT,
    ),
    "latency": Measure(
        latency.plan,
        latency.measure,
        "This machine’s arithmetic and memory are measured, then a request on the local model is timed against them.",
    ),
    "speculative": Measure(
        speculative.plan,
        speculative.measure,
        "The local model answers with and without drafts; acceptance at one token predicts your draft length.",
        speculative.PROMPT,
    ),
}


def outcome_of(body: JSON) -> Outcome:
    """The calculation a measurement belongs to."""
    return work_out(CALCULATORS[body["calculator"]], QueryDict(body["query"]))


def check(body: JSON) -> JSON:
    """The input as it is stored: a calculator that can be measured, its canonical query, perhaps a prompt."""
    unknown = sorted(set(body) - {"calculator", "query", "prompt"})
    if unknown:
        raise InputRefused(
            "invalid_input", "unknown: allowed are calculator, query and prompt.", (unknown[0],)
        )
    slug, query, prompt = (body.get(name, "") for name in ("calculator", "query", "prompt"))
    if not isinstance(slug, str) or slug not in MEASURES:
        raise InputRefused("invalid_input", f"choose one of {', '.join(MEASURES)}", ("calculator",))
    if not isinstance(query, str) or not isinstance(prompt, str) or len(prompt) > LONGEST_PROMPT:
        raise InputRefused("invalid_input", f"give text of at most {LONGEST_PROMPT} characters", ("prompt",))
    outcome = outcome_of({"calculator": slug, "query": query})
    if outcome.errors:
        raise InputRefused("invalid_input", outcome.errors[0].message, ("query", outcome.errors[0].name))
    kept = prompt.strip() and {"prompt": prompt}
    return {"calculator": slug, "query": outcome.query, **(kept or {})}


def execute(job: Job) -> JSON:
    """Measure on the worker's model and write down what it ran on."""
    measure = MEASURES[job.input["calculator"]]
    inputs = outcome_of(job.input).inputs
    if inputs is None:
        raise RunFailed("This calculation can no longer be read: open the calculator and run it again.")
    job.trace["model"] = job.models.engine.card.to_dict()
    plan = measure.plan(inputs)
    try:
        proof = measure.measure(job, plan).to_dict()
    except Halted:
        return {"plan": plan}
    job.trace["plan"], job.trace["proof"] = plan, proof
    return {"plan": plan, **proof}


register(
    Kind(
        name=KIND,
        title="Predicted and measured",
        execute=execute,
        check=check,
        page="calculators:proof",
        looks_inside=True,
    )
)
