"""Score pairs of each kind of layer, and the FLOPs of a prompt and of one more token.

Two FLOPs a multiply-add. Linear layers: 2 x matrix weights x tokens. Scores and the weighted sum: 2 x pairs x heads x
(key + value width) a layer; causal pairs are n(n+1)/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from interview.calculators.formulas.models import Geometry
from interview.calculators.formulas.weights import token_matrices


@dataclass(frozen=True, slots=True)
class Scored:
    """Layers that score alike: how many, heads, and the widths of key and value."""

    layers: int
    heads: int
    width: int
    window: int | None
    chunked: bool

    def pairs(self, tokens: int, mask: str) -> int:
        """Query-key pairs one head of one layer scores over a prompt."""
        if mask == "full" and not self.window:
            return tokens * tokens
        if not self.window or self.window >= tokens:
            return tokens * tokens if mask == "full" else tokens * (tokens + 1) // 2
        if self.chunked:
            whole_chunks, rest = divmod(tokens, self.window)
            return whole_chunks * self.window * (self.window + 1) // 2 + rest * (rest + 1) // 2
        return self.window * (self.window + 1) // 2 + (tokens - self.window) * self.window

    def row(self, tokens: int) -> int:
        """Pairs that the next token scores after `tokens` earlier ones, itself among them."""
        if not self.window:
            return tokens + 1
        return tokens % self.window + 1 if self.chunked else min(self.window, tokens + 1)

    def flops(self, pairs: int) -> int:
        """FLOPs of scores and weighted sum for so many pairs a head."""
        return 2 * pairs * self.heads * self.width * self.layers


@lru_cache(maxsize=256)
def scored(model: Geometry) -> tuple[Scored, ...]:
    """The attention of a model, by kind of layer."""
    if model.mla:
        width = model.mla.qk_nope_head_dim + model.mla.qk_rope_head_dim + model.mla.v_head_dim
        return (Scored(model.n_layers, model.n_heads, width, None, False),)
    width = 2 * model.head_dim
    if model.window is None:
        return (Scored(model.cache_layers, model.n_heads, width, None, False),)
    local, full = model.window.pattern.count("S"), model.window.pattern.count("F")
    wide = 2 * model.global_attention.head_dim if model.global_attention else width
    limited = Scored(local, model.n_heads, width, model.window.size, model.window.chunked)
    return tuple(s for s in (limited, Scored(full, model.n_heads, wide, None, False)) if s.layers)


def prefill_flops(model: Geometry, tokens: int, mask: str) -> tuple[int, int]:
    """(linear, attention) FLOPs of one prompt."""
    linear = 2 * tokens * token_matrices(model)
    return linear, sum(s.flops(s.pairs(tokens, mask)) for s in scored(model))


def step_flops(model: Geometry, tokens: int) -> tuple[int, int]:
    """(linear, attention) FLOPs of the next token after `tokens` cached ones."""
    return 2 * token_matrices(model), sum(s.flops(s.row(tokens)) for s in scored(model))
