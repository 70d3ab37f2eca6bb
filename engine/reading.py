"""Reading a passage for an answer: one forward pass with the answerability adapter, on the loop's thread.

The passage's keys and values are kept for a while, so that the next question about it costs its own tokens only.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine import reader
from engine.adapters import Adapter
from engine.cache import KVCache
from engine.decoder import Decoder, Segment
from engine.heads import best_span, span_logits
from engine.tokenizer import ModelTokenizer

if TYPE_CHECKING:
    from engine.llm import Engine

KEEP = 8


@dataclass(frozen=True, slots=True)
class Reading:
    """What a passage says to a question.

    `stated` is the probability that it states the answer; `start`, `end` the characters of the likeliest span and
    `sure` that span's probability.
    """

    stated: float
    start: int
    end: int
    sure: float


@dataclass(slots=True)
class Read:
    """A passage's keys and values, and its own hidden states [tokens, hidden]."""

    passage: reader.Encoded
    cache: KVCache
    hidden: Tensor


class Passages:
    """The passages read last, most recent at the end."""

    def __init__(self, keep: int = KEEP) -> None:
        self.keep = keep
        self.kept: OrderedDict[str, Read] = OrderedDict()
        self.hits = 0

    def of(self, decoder: Decoder, tokenizer: ModelTokenizer, adapter: Adapter, text: str) -> Read:
        """The passage, computed when it isn't here yet."""
        key = f"{adapter.key}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
        if key in self.kept:
            self.kept.move_to_end(key)
            self.hits += 1
            return self.kept[key]
        made = _compute(decoder, reader.encode_passage(tokenizer, text), adapter)
        self.kept[key] = made
        while len(self.kept) > self.keep:
            self.kept.popitem(last=False)
        return made


def _compute(decoder: Decoder, passage: reader.Encoded, adapter: Adapter) -> Read:
    cache = decoder.new_cache(len(passage.ids) + reader.MAX_TAIL)
    ids = torch.tensor(passage.ids, device=decoder.device)
    hidden = decoder.forward(ids, [Segment(cache, len(ids), adapter.updates)])
    return Read(passage, cache, hidden[passage.first :])


def read(engine: Engine, adapter: str, question: str, text: str) -> Reading:
    """Reads one passage for one question. Raises `InvalidRequest` for an adapter that isn't attached."""
    chosen = engine.adapter(adapter)
    return engine.loop.call(lambda: _read(engine, chosen, question, text)).result()


@torch.inference_mode()
def _read(engine: Engine, adapter: Adapter, question: str, text: str) -> Reading:
    decoder, tokenizer = engine.decoder, engine.tokenizer
    known = engine.passages.of(decoder, tokenizer, adapter, text)
    tail = torch.tensor(reader.encode_question(tokenizer, question), device=decoder.device)
    known.cache.truncate(len(known.passage.ids))
    last = decoder.forward(tail, [Segment(known.cache, len(tail), adapter.updates)])[-1]
    stated = next(iter(adapter.scores(last).values()))
    starts, ends = span_logits(adapter.heads, last[None], known.hidden)
    first, final, sure = best_span(starts[0], ends[0])
    spans = known.passage.spans
    start, end = reader.trimmed(text, spans[first][0], spans[final][1])
    return Reading(stated, start, end, sure)
