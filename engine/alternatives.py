"""What each step of sampling does to a distribution, for those who want to see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.sampling import Step, apply, filter_steps
from engine.types import Alternative, Sampling, StepSeen, TokenEvent


@dataclass(frozen=True, slots=True)
class Stage:
    """The distribution after one step: its name, fp32 probabilities [vocab], and how many tokens are left."""

    name: str
    probabilities: Tensor
    kept: int


def greedy(logits: Tensor) -> Tensor:
    """Keeps the most likely token alone."""
    return torch.full_like(logits, -torch.inf).index_copy_(
        -1, logits.argmax(-1, keepdim=True), logits.amax(-1, keepdim=True)
    )


def choosing_steps(s: Sampling) -> list[Step]:
    """The filters in the request's order; a greedy request's only step is the maximum."""
    return [("greedy", greedy)] if s.greedy else filter_steps(s)


def stages(logits: Tensor, steps: Sequence[Step]) -> list[Stage]:
    """The distribution after each step, from logits [vocab]."""
    found = []
    for name, step in steps:
        logits = step(logits)
        kept = int((logits > -torch.inf).sum())
        found.append(Stage(name, logits.softmax(-1), kept))
    return found


def alternative(token_id: int, text: str, log_p: Tensor, seen: Sequence[Stage]) -> Alternative:
    """One token before, after each of, and after all the steps; `log_p` [vocab] is the model's own."""
    after = tuple(float(stage.probabilities[token_id]) for stage in seen)
    probability = float(log_p[token_id].exp())
    return Alternative(token_id, text, probability, after[-1] if after else probability, after)


def seen(
    s: Sampling,
    token: int,
    raw: Tensor,
    shaped: Tensor,
    steps: Sequence[Step],
    label: Callable[[int], str],
    *,
    masking: bool,
) -> TokenEvent:
    """One choice as a request that wants `logprobs` sees it: `raw` [vocab] before `steps`, `shaped` after them.

    `masking` says that the last of the steps is a constraint's mask. Index, text and time are filled in later.
    """
    log_p = raw.log_softmax(-1)
    entropy = float(-(log_p.exp() * log_p).nansum())
    passed = [*stages(raw, steps), *stages(shaped, choosing_steps(s))]
    ids = torch.topk(raw, min(s.logprobs, raw.shape[-1])).indices.tolist()
    ids += [] if token in ids else [token]
    masked = None
    if masking:
        free = apply(raw, list(steps[:-1])).softmax(-1)
        masked = float(free[shaped == -torch.inf].sum())
    found = tuple(alternative(i, label(i), log_p, passed) for i in ids)
    kept = tuple(StepSeen(stage.name, stage.kept) for stage in passed)
    return TokenEvent(0, token, "", float(log_p[token]), entropy, found, 0.0, masked, kept)
