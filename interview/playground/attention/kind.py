"""The run kind `attention`: one forward pass; every head's weights in one layer, and the vectors' lengths in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interview.playground.attention.form import LONGEST, layer_fault
from interview.playground.attention.seen import shown
from interview.playground.kinds import check_text, engine_request, short
from interview.runs.chain import canonical_hash
from interview.runs.kinds import JSON, InputRefused, Interrupted, Job, Kind, RunFailed, register

if TYPE_CHECKING:
    from engine.observe import Observation

MOST_HEADS = 31
SHAPE = ("n_layers", "n_heads", "n_kv_heads", "head_dim", "vocab_size", "context_length")


def attention(job: Job) -> JSON:
    """Look into one layer."""
    from engine import EngineError
    from engine.observe import Observe, observe

    engine = job.models.engine
    job.trace["model"] = engine.card.to_dict()
    request = engine_request({key: value for key, value in job.input.items() if key != "layer"})
    layer, heads = job.input["layer"], min(engine.decoder.shape.n_heads, MOST_HEADS)
    pairs = ((layer, None), *((layer, head) for head in range(heads)))
    if job.halted:
        raise Interrupted
    try:
        seen = observe(engine, Observe(request=request, attention=pairs, norms=True, positions=()))
    except EngineError as error:
        raise RunFailed(error.message) from error
    if len(seen.tokens) > LONGEST:
        raise RunFailed(f"The text has {len(seen.tokens)} tokens; this page shows {LONGEST}. Shorten it.")
    output = result(seen, layer)
    choices = [{"per_token": rows_of(output)}]
    usage = {"prompt_tokens": len(seen.tokens), "completion_tokens": 0, "cached_tokens": 0}
    job.trace.update(rendered_prompt=seen.rendered_prompt, layer=layer, choices=choices, usage=usage)
    return output


def rows_of(output: JSON) -> list[list[object]]:
    """For the trace: place, hash and text of each row, the hash covering what it takes in every head."""
    return [
        [place, canonical_hash([weights[place] for weights in output["maps"]])[:16], text]
        for place, (_, text) in enumerate(output["tokens"])
    ]


def result(seen: Observation, layer: int) -> JSON:
    """What is stored: weights to four digits, rows up to their own position; first the average, then each head."""
    return {
        "layer": layer,
        "tokens": [[token.token_id, token.text] for token in seen.tokens],
        "maps": [[[round(w, 4) for w in row] for row in one.weights] for one in seen.attention],
        "norms": [[short(norm) for norm in row] for row in seen.hidden_norms],
        "shape": {name: seen.shape[name] for name in SHAPE},
        "forward_ms": short(seen.forward_ms),
    }


def check(body: JSON) -> JSON:
    """An input that came through the API."""
    layer = body.get("layer")
    if not isinstance(layer, int) or isinstance(layer, bool) or layer < 0:
        raise InputRefused("invalid_request", "layer is a whole number from 0.", ("layer",))
    if fault := layer_fault(layer):
        raise InputRefused("invalid_request", fault, ("layer",))
    check_text(body, ("layer",), most=LONGEST)
    return body


register(
    Kind(
        name="attention",
        title="Attention",
        execute=attention,
        check=check,
        page="playground:attention",
        replays=True,
        shown=shown,
        looks_inside=True,
    )
)
