"""One forward pass with the lid off: attention maps, norms of the residual stream, logits of any position."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine import alternatives, chat, sampling
from engine.decoder import Decoder, Probe, Segment
from engine.errors import InvalidRequest, PromptTooLong
from engine.limits import piece
from engine.types import Alternative, Request, Sampling, StepSeen

if TYPE_CHECKING:
    from engine.llm import Engine
    from engine.tokenizer import ModelTokenizer

# n x n weights a map, as numbers in JSON: beyond this a page can't show them anyway.
MAX_MAP_TOKENS = 256
MAX_TOKENS = 2048
MAX_MAPS = 32
MAX_TOP = 1000
MAX_POSITIONS = 64


@dataclass(frozen=True, slots=True)
class Observe:
    """What to look at. Give a request (its chat template and tokens are rendered as for generation) or ids.

    `attention` lists (layer, head) pairs, head None for the average over heads; `positions` (negative from the
    end) get their logits, `top` of them; the request's sampling says which steps are shown.
    """

    request: Request | None = None
    token_ids: tuple[int, ...] | None = None
    attention: tuple[tuple[int, int | None], ...] = ()
    norms: bool = False
    positions: tuple[int, ...] = (-1,)
    top: int = 20

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Observe:
        """From JSON: the request's own keys beside `token_ids`, `attention`, `norms`, `positions`, `top`."""
        own = {f.name for f in fields(cls)} - {"request"}
        given = {k: v for k, v in data.items() if k in own}
        rest = {k: v for k, v in data.items() if k not in own}
        ids = given.pop("token_ids", None)
        pairs = given.pop("attention", None) or ()
        try:
            return cls(
                request=Request.from_dict(rest) if "prompt" in rest or "messages" in rest else None,
                token_ids=None if ids is None else tuple(ids),
                attention=tuple((layer, head) for layer, head in pairs),
                positions=tuple(given.pop("positions", (-1,))),
                **given,
            )
        except (TypeError, ValueError):
            raise InvalidRequest(
                "invalid_request",
                "attention is a list of [layer, head or null]; positions a list",
                "attention",
            ) from None


@dataclass(frozen=True, slots=True)
class SeenToken:
    """A token of the text and the length of its embedding vector."""

    token_id: int
    text: str
    embedding_norm: float


@dataclass(frozen=True, slots=True)
class AttentionMap:
    """weights[i][j]: how much position i takes from position j <= i; each row sums to 1."""

    layer: int
    head: int | None
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class SeenLogits:
    """The distribution after a position. `logits` and `top` go together; `rest` is the mass outside `top`."""

    position: int
    entropy: float
    top: tuple[Alternative, ...]
    logits: tuple[float, ...]
    rest: float
    steps: tuple[StepSeen, ...]


@dataclass(frozen=True, slots=True)
class Observation:
    """What one forward pass showed. `hidden_norms[layer][position]`, the last row after the last layer."""

    tokens: tuple[SeenToken, ...]
    rendered_prompt: str
    attention: tuple[AttentionMap, ...] = ()
    hidden_norms: tuple[tuple[float, ...], ...] = ()
    logits: tuple[SeenLogits, ...] = ()
    shape: dict[str, Any] = field(default_factory=dict)
    forward_ms: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


class Recorder(Probe):
    """Keeps what was asked for of a single segment's pass."""

    def __init__(self, pairs: tuple[tuple[int, int | None], ...], norms: bool) -> None:
        self.wanted = {layer for layer, _ in pairs}
        self.norms = norms
        self.hidden_norms: list[list[float]] = []
        self.maps: dict[int, Tensor] = {}

    def layer_input(self, layer: int, hidden: Tensor) -> None:
        """Notes |x| of every position."""
        if self.norms:
            self.hidden_norms.append(torch.linalg.vector_norm(hidden.float(), dim=-1).tolist())

    def attention(self, layer: int, q: Tensor, k: Tensor, offset: int) -> None:
        """softmax(q k^T / sqrt(d)) under the causal mask, in fp32: [n_heads, rows, keys]."""
        if layer not in self.wanted:
            return
        n_kv, keys, dim = k.shape
        grouped = q.float().view(q.shape[0], n_kv, -1, dim).permute(1, 2, 0, 3)
        scores = grouped @ k.float()[:, None].transpose(-1, -2) / math.sqrt(dim)
        hidden = torch.ones(q.shape[0], keys, dtype=torch.bool, device=q.device).tril_(offset).logical_not_()
        weights = scores.masked_fill_(hidden, -torch.inf).softmax(-1)
        self.maps[layer] = weights.flatten(0, 1)

    def map(self, layer: int, head: int | None) -> AttentionMap:
        """One head's weights, or the mean over heads."""
        found = self.maps[layer]
        rows = (found.mean(0) if head is None else found[head]).tolist()
        return AttentionMap(layer, head, tuple(tuple(row[: i + 1]) for i, row in enumerate(rows)))


def observe(engine: Engine, wanted: Observe) -> Observation:
    """Runs the pass on the loop's thread. Raises `InvalidRequest` for what the model doesn't have."""
    rendered, ids = _ids(engine, wanted)
    check(engine, wanted, len(ids))
    return engine.loop.call(lambda: _run(engine, wanted, rendered, ids)).result()


def _ids(engine: Engine, wanted: Observe) -> tuple[str, list[int]]:
    if (wanted.request is None) == (wanted.token_ids is None):
        raise InvalidRequest("invalid_request", "give either a prompt, messages or token_ids", "token_ids")
    if wanted.request is not None:
        return chat.render(engine.tokenizer, wanted.request)
    ids = list(wanted.token_ids or ())
    vocab = engine.decoder.shape.vocab_size
    if any(not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < vocab for i in ids):
        raise InvalidRequest("invalid_request", f"token_ids are whole numbers below {vocab}", "token_ids")
    return "".join(map(engine.tokenizer.label, ids)), ids


def check(engine: Engine, wanted: Observe, n: int) -> None:
    """Refuses what is empty, too long, or names a layer, head or position that isn't there."""
    shape = engine.decoder.shape
    if n == 0:
        raise InvalidRequest("empty_prompt", "the text has no tokens", "prompt")
    limit = min(MAX_MAP_TOKENS if wanted.attention else MAX_TOKENS, engine.card.context_length)
    if n > limit:
        raise PromptTooLong(f"the text has {n} tokens; at most {limit} can be looked at. Shorten it.")
    if len(wanted.attention) > MAX_MAPS or len(wanted.positions) > MAX_POSITIONS:
        raise InvalidRequest(
            "invalid_request", f"at most {MAX_MAPS} maps and {MAX_POSITIONS} positions", "attention"
        )
    for layer, head in wanted.attention:
        _within("layer", layer, shape.n_layers)
        if head is not None:
            _within("head", head, shape.n_heads)
    for position in wanted.positions:
        _within("position", position + n if isinstance(position, int) and position < 0 else position, n)
    _within("top", wanted.top, MAX_TOP + 1)


def _within(name: str, value: object, size: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < size:
        raise InvalidRequest("invalid_request", f"{name} is {value!r}; allowed: 0 to {size - 1}", name)


@torch.inference_mode()
def _run(engine: Engine, wanted: Observe, rendered: str, ids: list[int]) -> Observation:
    decoder, tokenizer = engine.decoder, engine.tokenizer
    recorder = Recorder(wanted.attention, wanted.norms)
    tensor = torch.tensor(ids, device=decoder.device)
    start = time.perf_counter()
    hidden = _forward(decoder, tensor, piece(len(ids), len(ids), engine.loop.limits.chunk), recorder)
    spots = [p % len(ids) for p in wanted.positions]
    logits = decoder.logits(hidden[spots]) if spots else None
    forward_ms = 1000 * (time.perf_counter() - start)
    lengths = torch.linalg.vector_norm(decoder.embedding[tensor].float(), dim=-1).tolist()
    s = wanted.request.sampling if wanted.request else Sampling()
    return Observation(
        tokens=tuple(SeenToken(i, tokenizer.label(i), n) for i, n in zip(ids, lengths, strict=True)),
        rendered_prompt=rendered,
        attention=tuple(recorder.map(layer, head) for layer, head in wanted.attention),
        hidden_norms=tuple(tuple(row) for row in recorder.hidden_norms),
        logits=tuple(
            _seen(tokenizer, row, spot, ids[: spot + 1], s, wanted.top)
            for row, spot in zip(() if logits is None else logits, spots, strict=True)
        ),
        shape=asdict(decoder.shape),
        forward_ms=forward_ms,
    )


def _forward(decoder: Decoder, ids: Tensor, first: int, recorder: Recorder) -> Tensor:
    """Hidden states of a text, its last few rows by themselves where the loop computes a prompt so: to the bit what a
    request's first token is drawn from.
    """
    n = len(ids)
    whole = decoder.forward(ids, [Segment(decoder.new_cache(n), n)], recorder)
    if first == n:
        return whole
    cache = decoder.new_cache(n)
    parts = [(ids[:first], first), (ids[first:], n - first)]
    return torch.cat([decoder.forward(part, [Segment(cache, size)]) for part, size in parts])


def _seen(
    tokenizer: ModelTokenizer, row: Tensor, position: int, ids: list[int], s: Sampling, top: int
) -> SeenLogits:
    """The likeliest tokens after a position, through the steps a request with these settings would take."""
    log_p = row.log_softmax(-1)
    steps = [*sampling.penalty_steps(s, sampling.History(ids)), *alternatives.choosing_steps(s)]
    stages = alternatives.stages(row, steps)
    values, found = torch.topk(row, min(top, row.shape[-1]))
    return SeenLogits(
        position=position,
        entropy=float(-(log_p.exp() * log_p).nansum()),
        top=tuple(alternatives.alternative(i, tokenizer.label(i), log_p, stages) for i in found.tolist()),
        logits=tuple(values.tolist()),
        rest=float(1 - log_p[found].exp().sum()),
        steps=tuple(StepSeen(stage.name, stage.kept) for stage in stages),
    )
