"""From logits to a token: pure functions on logits, in an explicit order.

Each step maps fp32 logits [vocab] (or [batch, vocab]) to logits; a removed token becomes -inf. Definitions
follow
transformers' logits processors, which the tests compare against.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from engine.errors import EngineError
from engine.types import Sampling

Step = tuple[str, Callable[[Tensor], Tensor]]
# Tokens looked at before a whole-vocabulary sort (milliseconds) is worth its price.
SHORTLIST = 512


def bias(logits: Tensor, values: Mapping[int, float]) -> Tensor:
    """Adds values[id] to the logits of the ids that exist."""
    ids = [t for t in values if t < logits.shape[-1]]
    out = logits.clone()
    out[..., ids] += torch.tensor([values[t] for t in ids], dtype=logits.dtype, device=logits.device)
    return out


def repetition_penalty(logits: Tensor, seen: Sequence[int], penalty: float) -> Tensor:
    """Divides positive and multiplies negative logits of seen tokens (CTRL, arXiv 1909.05858)."""
    ids = torch.tensor(sorted(set(seen)), dtype=torch.long, device=logits.device)
    out = logits.clone()
    score = logits[..., ids]
    out[..., ids] = torch.where(score < 0, score * penalty, score / penalty)
    return out


def count_penalties(logits: Tensor, counts: Mapping[int, int], frequency: float, presence: float) -> Tensor:
    """Subtracts frequency x count + presence from every token generated so far (OpenAI's definition)."""
    if not counts:
        return logits
    ids = torch.tensor(list(counts), dtype=torch.long, device=logits.device)
    times = torch.tensor(list(counts.values()), dtype=logits.dtype, device=logits.device)
    out = logits.clone()
    out[..., ids] -= frequency * times + presence
    return out


def no_repeat_ngram(logits: Tensor, tokens: Sequence[int], n: int) -> Tensor:
    """Removes every token that would complete an n-gram that `tokens` already holds."""
    start = len(tokens) - n + 1
    if start < 0:
        return logits
    tail = tuple(tokens[start:])
    banned = [tokens[i + n - 1] for i in range(len(tokens) - n + 1) if tuple(tokens[i : i + n - 1]) == tail]
    out = logits.clone()
    out[..., banned] = -math.inf
    return out


def temperature(logits: Tensor, value: float) -> Tensor:
    """logits / T."""
    return logits / value


def top_k(logits: Tensor, k: int) -> Tensor:
    """Keeps the k largest logits, and those equal to the k-th."""
    kth = torch.topk(logits, min(k, logits.shape[-1])).values[..., -1:]
    return logits.masked_fill(logits < kth, -math.inf)


def top_p(logits: Tensor, p: float) -> Tensor:
    """Keeps the smallest set of most likely tokens whose mass reaches p (nucleus, arXiv 1904.09751)."""
    ordered, ids = torch.sort(logits, descending=False)
    drop = ordered.softmax(-1).cumsum(-1) <= 1 - p
    drop[..., -1:] = False
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, ids, drop), -math.inf)


def min_p(logits: Tensor, p: float) -> Tensor:
    """Keeps tokens at least p times as likely as the likeliest (arXiv 2407.01082)."""
    probabilities = logits.softmax(-1)
    floor = p * probabilities.amax(-1, keepdim=True)
    return logits.masked_fill(probabilities < floor, -math.inf)


def typical_p(logits: Tensor, mass: float) -> Tensor:
    """Keeps the tokens whose surprise is nearest the entropy, up to the mass (arXiv 2202.00666)."""
    log_p = logits.log_softmax(-1)
    p = log_p.exp()
    entropy = -(log_p * p).nansum(-1, keepdim=True)
    shifted = (-log_p - entropy).abs()
    ordered, ids = torch.sort(shifted, descending=False)
    cumulative = logits.gather(-1, ids).softmax(-1).cumsum(-1)
    last = (cumulative < mass).sum(-1).clamp(max=logits.shape[-1] - 1)
    drop = ordered > ordered.gather(-1, last.view(*last.shape, 1))
    drop[..., :1] = False
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, ids, drop), -math.inf)


@dataclass(slots=True)
class History:
    """What a request's penalties look at: its prompt and its own output."""

    prompt: list[int]
    output: list[int] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)

    def add(self, token_id: int) -> None:
        """Notes a generated token."""
        self.output.append(token_id)
        self.counts[token_id] = self.counts.get(token_id, 0) + 1


def penalty_steps(s: Sampling, history: History) -> list[Step]:
    """The steps that look at what was said: bias, repetition, frequency and presence, n-grams."""
    steps: list[Step] = []
    if s.logit_bias:
        steps.append(("logit_bias", lambda x: bias(x, s.logit_bias)))
    if s.repetition_penalty != 1:
        seen = history.prompt + history.output
        steps.append(("repetition_penalty", lambda x: repetition_penalty(x, seen, s.repetition_penalty)))
    if s.frequency_penalty or s.presence_penalty:
        steps.append(
            (
                "frequency_presence",
                lambda x: count_penalties(x, history.counts, s.frequency_penalty, s.presence_penalty),
            )
        )
    if s.no_repeat_ngram:
        steps.append(
            (
                "no_repeat_ngram",
                lambda x: no_repeat_ngram(x, history.prompt + history.output, s.no_repeat_ngram),
            )
        )
    return steps


def filter_steps(s: Sampling) -> list[Step]:
    """Temperature and the truncations, in the order the request chose; nothing when greedy."""
    if s.temperature == 0:
        return []
    warm: list[Step] = (
        [("temperature", lambda x: temperature(x, s.temperature))] if s.temperature != 1 else []
    )
    k: list[Step] = [("top_k", lambda x: top_k(x, s.top_k))] if s.top_k else []
    p: list[Step] = [("top_p", lambda x: top_p(x, s.top_p))] if s.top_p < 1 else []
    m: list[Step] = [("min_p", lambda x: min_p(x, s.min_p))] if s.min_p else []
    t: list[Step] = [("typical_p", lambda x: typical_p(x, s.typical_p))] if s.typical_p < 1 else []
    if s.order == "temperature_first":
        return warm + k + p + m + t
    return k + t + p + m + warm


def apply(logits: Tensor, steps: Sequence[Step]) -> Tensor:
    """Runs the steps one after another."""
    for _, step in steps:
        logits = step(logits)
    return logits


def shortlist(logits: Tensor, s: Sampling) -> tuple[Tensor, Tensor] | None:
    """(ids, logits) that hold every token the filters keep, most likely first; None when a full pass is
    needed.

    Exact: with top_k the k largest are enough; with top_p the list must reach the mass; with min_p its last
    token must
    lie under the floor. Saves the whole-vocabulary sort, which costs about as much as a forward pass.
    """
    if s.typical_p < 1 or not (s.top_k or s.top_p < 1 or s.min_p):
        return None
    size = min(max(s.top_k, SHORTLIST), logits.shape[-1])
    values, ids = torch.topk(logits, size)
    if s.top_k:
        keep = int((values >= values[min(s.top_k, size) - 1]).sum())
        return None if keep == size < logits.shape[-1] else (ids[:keep], values[:keep])
    heat = s.temperature if s.order == "temperature_first" else 1.0
    share = (values / heat - torch.logsumexp(logits / heat, -1)).exp()
    if s.top_p < 1:
        reached = int((share.cumsum(-1) < s.top_p).sum()) + 1
        return None if reached >= size else (ids[:reached], values[:reached])
    inside = int((share >= s.min_p * share[0]).sum())
    return None if inside == size else (ids[:inside], values[:inside])


def after_shortlist(s: Sampling) -> list[Step]:
    """What is left to do on a shortlist: nucleus sampling without top_k was already cut at the mass."""
    steps = filter_steps(s)
    return steps if s.top_k else [step for step in steps if step[0] != "top_p"]


def draw(logits: Tensor, rng: random.Random) -> int:
    """An index drawn with probability softmax(logits), by one uniform number of the request's own stream."""
    cumulative = logits.double().softmax(-1).cumsum(-1)
    total = float(cumulative[-1])
    if not math.isfinite(total):
        raise EngineError("not_finite", "the logits give no distribution: one is infinite or not a number")
    target = rng.random() * total
    index = int(torch.searchsorted(cumulative, target, right=True))
    index = min(index, logits.shape[-1] - 1)
    while index > 0 and logits[index] == -math.inf:
        index -= 1
    return index


def check_choice(logits: Tensor) -> None:
    """Raises `EngineError` when no token of logits [vocab] can be chosen; a maximum would take the first all the same."""
    best = float(logits.amax())
    if best == -math.inf:
        raise EngineError(
            "nothing_allowed",
            "no token is left: logit_bias, no_repeat_ngram and the constraint together exclude every one; relax one",
        )
    if not math.isfinite(best):
        raise EngineError("not_finite", "the logits give no distribution: one is infinite or not a number")


def choose(logits: Tensor, s: Sampling, rng: random.Random) -> int:
    """The next token's id from logits [vocab] that penalties and masks have already changed."""
    if s.greedy:
        return int(logits.argmax())
    short = shortlist(logits, s)
    if short is None:
        return draw(apply(logits, filter_steps(s)), rng)
    ids, values = short
    return int(ids[draw(apply(values, after_shortlist(s)), rng)])
