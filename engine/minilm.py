"""The forward pass of all-MiniLM-L6-v2: a BERT encoder of six layers over texts laid end to end, so that nothing is padding.

Only attention looks at one text at a time; all products see the tokens of all texts as one long matrix.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

WIDTH = 384
N_HEADS = 12
N_LAYERS = 6
EPSILON = 1e-12
PASS_TOKENS = 512  # of a pass; more gains nothing, and its intermediate values would leave the cache
FEW_TOKENS = 64
MAX_PADDING = 1.3  # of what attention looks at together


@dataclass(frozen=True, slots=True)
class Together:
    """Texts of nearly one length, whose attention is one call: rows of the pass and where each has a token."""

    start: int
    end: int
    places: Tensor | None = None  # [texts, longest] rows of the pass; None where all are equally long
    there: Tensor | None = None  # [texts, longest]
    longest: int = 0


class MiniLM:
    """Token ids to hidden states; threads may share it, since nobody writes its tensors."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = (
            weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]
        self._layers = [_layer(weights, i) for i in range(N_LAYERS)]

    def passes(self, rows: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], list[int], Tensor]]:
        """For each pass the texts in it, where each starts and the last ends, and the states [tokens, 384]."""
        for chosen in _passes([len(row) for row in rows]):
            ids = torch.tensor([token for i in chosen for token in rows[i]])
            lengths = [len(rows[i]) for i in chosen]
            starts = [0, *itertools.accumulate(lengths)]
            with torch.inference_mode():
                yield chosen, starts, self._forward(ids, lengths).float()

    def _forward(self, ids: Tensor, lengths: Sequence[int]) -> Tensor:
        places = torch.tensor([place for length in lengths for place in range(length)])
        x = _norm(F.embedding(ids, self._words) + self._places[places], *self._norm)
        groups = _together(lengths)
        for layer in self._layers:
            x = layer(x, groups)
        return x


class _Linear:
    """A matrix and its bias, laid out once for this processor where oneDNN is there: a seventh less time than as it is."""

    def __init__(self, weight: Tensor, bias: Tensor, then: str = "none") -> None:
        self._packed: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight) if self._packed else weight
        self._bias = bias
        self._then = then

    def __call__(self, x: Tensor) -> Tensor:
        if not self._packed:
            x = F.linear(x, self._weight, self._bias)
            return F.gelu(x) if self._then == "gelu" else x
        exactly = "none" if self._then == "gelu" else ""  # no approximation of it
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, self._then, [], exactly)
        return out


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: _Linear
    out: _Linear
    norm_attention: tuple[Tensor, Tensor]
    up: _Linear
    down: _Linear
    norm_output: tuple[Tensor, Tensor]

    def __call__(self, x: Tensor, groups: Sequence[Together]) -> Tensor:
        x = _norm(x + self._attention(x, groups), *self.norm_attention)
        return _norm(x + self.down(self.up(x)), *self.norm_output)

    def _attention(self, x: Tensor, groups: Sequence[Together]) -> Tensor:
        qkv = self.qkv(x)
        mixed = [_attend(qkv, group) for group in groups]
        return self.out(torch.cat(mixed) if len(mixed) > 1 else mixed[0])


def _attend(qkv: Tensor, group: Together) -> Tensor:
    taken = qkv[group.start : group.end] if group.places is None else qkv[group.places]
    heads = taken.view(-1, group.longest, 3, N_HEADS, WIDTH // N_HEADS)
    q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
    mask = None if group.there is None else group.there[:, None, None, :]
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2)
    if group.there is None:
        return mixed.reshape(-1, WIDTH)
    return mixed.reshape(*group.there.shape, WIDTH)[group.there]


def _layer(weights: Mapping[str, Tensor], index: int) -> _Layer:
    def pair(name: str) -> tuple[Tensor, Tensor]:
        prefix = f"encoder.layer.{index}.{name}"
        return weights[f"{prefix}.weight"], weights[f"{prefix}.bias"]

    parts = [pair(f"attention.self.{name}") for name in ("query", "key", "value")]
    return _Layer(
        qkv=_Linear(torch.cat([weight for weight, _ in parts]), torch.cat([bias for _, bias in parts])),
        out=_Linear(*pair("attention.output.dense")),
        norm_attention=pair("attention.output.LayerNorm"),
        up=_Linear(*pair("intermediate.dense"), then="gelu"),
        down=_Linear(*pair("output.dense")),
        norm_output=pair("output.LayerNorm"),
    )


def _norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, (WIDTH,), weight, bias, EPSILON)


def _passes(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Texts of a pass, the shorter ones first, so that those of nearly one length stand together."""
    chosen: list[int] = []
    tokens = 0
    for row in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if chosen and tokens + lengths[row] > PASS_TOKENS:
            yield chosen
            chosen, tokens = [], 0
        chosen.append(row)
        tokens += lengths[row]
    if chosen:
        yield chosen


def _together(lengths: Sequence[int]) -> list[Together]:
    """Ascending lengths cut where padding the shorter ones would waste more than it saves."""
    out: list[Together] = []
    first, start, end = 0, 0, 0
    for i, length in enumerate(lengths):
        padded = (i - first + 1) * length
        if i > first and padded > FEW_TOKENS and padded > MAX_PADDING * (end - start + length):
            out.append(_group(lengths[first:i], start, end))
            first, start = i, end
        end += length
    out.append(_group(lengths[first:], start, end))
    return out


def _group(lengths: Sequence[int], start: int, end: int) -> Together:
    longest = lengths[-1]
    if lengths[0] == longest:
        return Together(start, end, longest=longest)
    sizes = torch.tensor(lengths)
    starts = start + sizes.cumsum(0) - sizes
    steps = torch.arange(longest)
    there = steps < sizes[:, None]
    places = torch.where(there, starts[:, None] + steps, starts[:, None])
    return Together(start, end, places, there, longest)
