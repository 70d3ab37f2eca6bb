"""The run kind `next-token`: one forward pass, every logit of the last position, norms on the way there."""

from __future__ import annotations

import random
import secrets
import time
from typing import TYPE_CHECKING, Any

from interview.playground.kinds import check_text, engine_request, short
from interview.playground.next_token.form import LONGEST
from interview.playground.next_token.packed import pack
from interview.playground.next_token.seen import shown
from interview.runs.kinds import JSON, InputRefused, Interrupted, Job, Kind, RunFailed, register

if TYPE_CHECKING:
    from engine import Engine, Sampling

SHOWN = 60
SHOWN_TOKENS = 200
TRACED = 20


def next_token(job: Job) -> JSON:
    """Draw a token if asked, then give the distribution over the one after it."""
    from engine import EngineError, chat

    engine = job.models.engine
    job.trace["model"] = engine.card.to_dict()
    request = engine_request({k: v for k, v in job.input.items() if k not in ("draw", "previous")})
    try:
        rendered, ids = chat.render(engine.tokenizer, request)
    except EngineError as error:
        raise RunFailed(error.message) from error
    longest = min(LONGEST, engine.card.context_length - 2)
    if len(ids) > longest:
        raise RunFailed(f"The text has {len(ids)} tokens; this page looks at {longest} at most. Shorten it.")
    if job.halted:
        raise Interrupted
    draw = (request.sampling, job.input["draw"].get("seed")) if "draw" in job.input else None
    seen = engine.loop.call(lambda: look(engine, ids, draw)).result()
    drawn = [seen["drawn"]["id"]] if seen["drawn"] else []
    output = {**seen, "continue_ids": [*request.continue_ids, *drawn], "window": engine.card.context_length}
    choices = [{"per_token": rows_of(output)}]
    if seen["drawn"]:
        job.trace["seed"] = seen["drawn"]["seed"]
    usage = {"prompt_tokens": len(ids), "completion_tokens": len(drawn), "cached_tokens": 0}
    job.trace.update(
        rendered_prompt=rendered,
        drawn=seen["drawn"],
        top=output["top"][:TRACED],
        choices=choices,
        usage=usage,
    )
    return output


def rows_of(output: JSON) -> list[list[object]]:
    """For the trace: what was drawn, then the likeliest candidates, each with its logit."""
    drawn = output["drawn"]
    rows: list[tuple[object, str]] = [(drawn["id"], drawn["text"])] if drawn else []
    rows += [(f"{i}: {logit}", text) for i, text, logit in output["top"][:TRACED]]
    return [[place, *row] for place, row in enumerate(rows)]


def pin(request: JSON, trace: JSON) -> JSON:
    """The request with the seed of its draw."""
    seed = trace.get("seed")
    return {**request, "draw": {"seed": seed}} if isinstance(seed, int) and "draw" in request else request


def look(engine: Engine, ids: list[int], draw: tuple[Sampling, int | None] | None) -> JSON:
    """The pass itself, on the loop's thread."""
    import torch

    from engine.decoder import Segment

    probe, cache = _norms(), engine.decoder.new_cache(len(ids) + 1)
    started = time.perf_counter()
    hidden = engine.decoder.forward(
        torch.tensor(ids, device=engine.decoder.device), [Segment(cache, len(ids))], probe
    )
    logits = engine.decoder.logits(hidden[-1:])[0]
    drawn = _drawn(engine, logits, *draw) if draw else None
    if drawn:
        ids, probe = [*ids, drawn["id"]], _norms()
        token = torch.tensor([drawn["id"]], device=engine.decoder.device)
        logits = engine.decoder.logits(engine.decoder.forward(token, [Segment(cache, 1)], probe))[0]
    took = 1000 * (time.perf_counter() - started)
    return {
        **_distribution(engine, logits),
        "drawn": drawn,
        "count": len(ids),
        "tokens": _tokens(engine, ids[-SHOWN_TOKENS:]),
        "layer_norms": [short(norm) for norm in probe.norms],
        "forward_ms": short(took),
        "ended": bool(drawn) and ids[-1] in engine.tokenizer.eos_ids,
    }


def _norms() -> Any:
    """A probe that notes the length of the last position's vector before each layer and after the last."""
    from engine.decoder import Probe

    class Norms(Probe):
        def __init__(self) -> None:
            self.norms: list[float] = []

        def layer_input(self, layer: int, hidden: Any) -> None:
            self.norms.append(float(hidden[-1].float().norm()))

    return Norms()


def _drawn(engine: Engine, logits: Any, sampling: Sampling, seed: int | None) -> JSON:
    """A token chosen by the engine's own sampler from logits [vocab]."""
    from engine.sampling import choose

    used = secrets.randbits(53) if seed is None else seed
    token = choose(logits, sampling, random.Random(used))
    return {
        "id": token,
        "text": engine.tokenizer.label(token),
        "probability": short(float(logits.softmax(-1)[token])),
        "seed": used,
    }


def _distribution(engine: Engine, logits: Any) -> JSON:
    ordered, ids = logits.sort(descending=True)
    log_p = logits.log_softmax(-1)
    return {
        "logits": pack(ordered.tolist()),
        "entropy": short(float(-(log_p.exp() * log_p).nansum())),
        "top": [
            [i, engine.tokenizer.label(i), short(logit)]
            for i, logit in zip(ids[:SHOWN].tolist(), ordered[:SHOWN].tolist(), strict=True)
        ],
    }


def _tokens(engine: Engine, ids: list[int]) -> list[list[object]]:
    """Each token: id, text, whether it is special, the length of its embedding vector."""
    import torch

    rows = engine.decoder.embedding[torch.tensor(ids, device=engine.decoder.device)].float()
    norms = torch.linalg.vector_norm(rows, dim=-1).tolist()
    special = engine.tokenizer.special_ids
    return [
        [i, engine.tokenizer.label(i), i in special, short(norm)] for i, norm in zip(ids, norms, strict=True)
    ]


def check(body: JSON) -> JSON:
    """An input that came through the API."""
    draw = body.get("draw", {})
    if not isinstance(draw, dict) or set(draw) - {"seed"} or not _is_seed(draw.get("seed")):
        raise InputRefused(
            "invalid_request", "draw is an object: empty, or with a seed, a whole number from 0.", ("draw",)
        )
    check_text(body, ("sampling", "draw"), most=LONGEST)
    try:
        engine_request({key: value for key, value in body.items() if key != "draw"})
    except RunFailed as error:
        raise InputRefused("invalid_request", str(error), ("sampling",)) from error
    return body


def _is_seed(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63)


register(
    Kind(
        name="next-token",
        title="Next token",
        execute=next_token,
        check=check,
        page="playground:next-token",
        replays=True,
        pin=pin,
        shown=shown,
        looks_inside=True,
    )
)
