"""The local model as a measurement needs it: its geometry, prompts of an exact length, one request at a time."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from interview.calculators.formulas.models import Geometry, models
from interview.calculators.formulas.registry import find, run
from interview.runs.kinds import Interrupted, Job, RunFailed

if TYPE_CHECKING:
    from engine import Engine, Request, Result

FILLER = " the"
ELSEWHERE = (
    "The model runs on another server here, so its memory and time can't be measured. "
    "Set ENGINE_MODEL to a local model to measure."
)


class Halted(Exception):
    """The owner asked to stop."""


def engine_of(job: Job) -> Engine:
    """The worker's engine. Raises RunFailed where the model isn't in this process."""
    engine = job.models.engine
    if not hasattr(engine, "decoder") or not hasattr(engine, "tokenizer"):
        raise RunFailed(ELSEWHERE)
    return engine


def geometry_of(engine: Engine) -> Geometry:
    """The registry's row with the loaded model's shape. Raises RunFailed where none has it."""
    card = engine.card
    shape = (card.n_layers, card.hidden_size, card.n_heads, card.n_kv_heads, card.vocab_size)
    for row in models().values():
        if (row.n_layers, row.hidden_size, row.n_heads, row.n_kv_heads, row.vocab_size) == shape:
            return row
    raise RunFailed(
        f"The shape of {card.name} is not among the calculators’ models, so nothing can be predicted."
    )


def cache_dtype(engine: Engine) -> str:
    """The calculators' name for the type of the engine's cache."""
    return {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}[
        str(engine.decoder.dtype).rpartition(".")[2]
    ]


def predicted(slug: str, **given: object) -> dict[str, Any]:
    """The results of a calculator for these inputs. Raises RunFailed with the calculator's own words."""
    outcome = run(find(slug), {name: str(value) for name, value in given.items()})
    if outcome.result is None:
        raise RunFailed("; ".join(f"{e.name}: {e.message}" for e in outcome.errors))
    return dict(outcome.result.results)


def generate(job: Job, request: Request) -> Result:
    """One request to its end. Raises Halted, Interrupted, RunFailed."""
    from engine import EngineError

    try:
        handle = job.models.engine.submit(request)
    except EngineError as error:
        raise RunFailed(error.message) from error
    job.call_on_halt(handle.cancel)
    return checked(job, handle.result())


def checked(job: Job, result: Result) -> Result:
    """The result of a request that ran to its end. Raises Halted, Interrupted, RunFailed."""
    if job.cancelled.is_set():
        raise Halted
    if job.stopping.is_set():
        raise Interrupted
    if result.finish_reason == "error":
        raise RunFailed((result.error or {}).get("message", "The model failed while generating."))
    return result


def prompt_of(engine: Engine, tokens: int) -> str:
    """A text of exactly `tokens` tokens, begun by random digits, so that no earlier prompt's cache fits it."""
    text = "".join(secrets.choice("0123456789") for _ in range(min(6, tokens)))
    missing = tokens - _length(engine, text)
    text += FILLER * missing
    if _length(engine, text) != tokens:
        raise RunFailed(f"A prompt of exactly {tokens} tokens can't be made with this tokenizer.")
    return text


def _length(engine: Engine, text: str) -> int:
    return len(engine.tokenizer.with_bos(engine.tokenizer.encode(text)))


def neighbours(engine: Engine) -> int:
    """Requests of others that run right now and share the machine."""
    return int(engine.stats()["running"])
