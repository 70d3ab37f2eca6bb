"""KV cache: bytes of the tensors that real requests hold, against the formula."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from interview.calculators.formulas.kv_inputs import KvCacheInputs
from interview.calculators.measuring.local import cache_dtype, checked, engine_of, predicted, prompt_of
from interview.calculators.measuring.proof import Proof, Row
from interview.runs.kinds import JSON, Job, RunFailed

if TYPE_CHECKING:
    from engine import Engine, Request
    from engine.handle import Handle

MOST_TOKENS, MOST_SEQUENCES = 2048, 4
LEAST_TOKENS, TRIES = 16, 5


def plan(inputs: KvCacheInputs) -> JSON:
    """As many tokens and sequences as were asked for, within what runs in seconds."""
    return {
        "tokens": max(LEAST_TOKENS, min(inputs.tokens, MOST_TOKENS)),
        "sequences": min(inputs.sequences, MOST_SEQUENCES),
    }


def measure(job: Job, plan: JSON) -> Proof:
    """Run the sequences at once and read the size of each one's cache while it is held."""
    engine = engine_of(job)
    tokens, sequences = plan["tokens"], plan["sequences"]
    held = _held(job, engine, tokens, sequences)
    card, dtype = engine.card, cache_dtype(engine)
    given = {"layers": card.n_layers, "kv_heads": card.n_kv_heads, "head_dim": card.head_dim, "dtype": dtype}
    says = predicted("kv-cache", **given, tokens=tokens, sequences=sequences)
    wrong = predicted("kv-cache", **{**given, "kv_heads": card.n_heads}, tokens=tokens, sequences=sequences)
    shape = f"{card.n_layers} layers, {card.n_kv_heads} KV heads of {card.head_dim}, {dtype}"
    return Proof(
        setting=f"{sequences} × {tokens} tokens on {card.name} ({shape})",
        rows=(
            Row("Bytes a token", "bytes", says["bytes_per_token"], held[0] / tokens),
            Row("Bytes of one sequence", "bytes", says["bytes_per_sequence"], held[0]),
            Row("Bytes of all sequences", "bytes", says["bytes"], sum(held)),
            Row("Counted with the query heads instead", "bytes", wrong["bytes"], sum(held), "wrong"),
        ),
        notes=("The sizes are those of the tensors that the requests held while they ran.",),
    )


def _held(job: Job, engine: Engine, tokens: int, sequences: int) -> list[int]:
    """Bytes of each sequence's cache while all of them run."""
    for _ in range(TRIES):
        handles = [engine.submit(request) for request in _requests(engine, tokens, sequences)]
        job.call_on_halt(partial(_cancel, handles))
        next(iter(handles[-1]))
        sizes = engine.loop.call(partial(_sizes, engine, handles)).result()
        _cancel(handles)
        for handle in handles:
            checked(job, handle.result())
        if all(sizes):
            return sizes
    raise RunFailed("The machine was too busy to see all sequences run at once. Try again, with fewer.")


def _requests(engine: Engine, tokens: int, sequences: int) -> list[Request]:
    """Half prompt, half answer: the cache is reserved for both, and the answers are cut off once it was read."""
    from engine import Request, Sampling

    answer = tokens // 2
    sampling = Sampling(max_tokens=answer, logit_bias=dict.fromkeys(engine.tokenizer.eos_ids, -100.0))
    return [
        Request(prompt=prompt_of(engine, tokens - answer), sampling=sampling, speculate=0)
        for _ in range(sequences)
    ]


def _sizes(engine: Engine, handles: list[Handle]) -> list[int]:
    held = {a.request.id: a.cache.n_bytes for a in engine.loop.active if a.cache}
    return [held.get(handle.id, 0) for handle in handles]


def _cancel(handles: list[Handle]) -> None:
    for handle in handles:
        handle.cancel()
