"""A decoding step: one token, or an accepted draft and one, for every request that has its first one."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.active import Active, ending
from engine.decoder import Decoder
from engine.limits import groups

Drafted = tuple[Active, list[int]]


def drafted(items: Sequence[Active]) -> list[Drafted]:
    """Each request with the tokens to check after its last one; without those that looking for them ended."""
    return [(item, draft) for item in items if (draft := _draft(item)) is not None]


def _draft(item: Active) -> list[int] | None:
    with ending(item):
        return item.draft()
    return None


def decode(decoder: Decoder, wanted: Sequence[Drafted], max_rows: int) -> int:
    """Chooses the next tokens of all, in passes of at most `max_rows`; returns how many were chosen."""
    chosen = 0
    # A draft that filled more than a pass would be computed by other kernels, and give other bits.
    fitting = [(item, draft[: max_rows - 1]) for item, draft in wanted]
    for group in groups(fitting, max_rows):
        with ending(*(item for item, _ in group)):
            chosen += _pass(decoder, group, len(wanted))
    return chosen


def _pass(decoder: Decoder, group: Sequence[Drafted], batch_size: int) -> int:
    ids = [token for item, draft in group for token in (item.history.output[-1], *draft)]
    segments = [item.segment(item.cache, 1 + len(draft)) for item, draft in group if item.cache is not None]
    hidden = decoder.forward(torch.tensor(ids, device=decoder.device), segments)
    logits = decoder.logits(hidden)
    chosen = row = 0
    for item, draft in group:
        item.batch_sizes.append(batch_size)
        with ending(item):
            chosen += _checked(item, draft, logits[row : row + 1 + len(draft)])
        row += 1 + len(draft)
    return chosen


def _checked(item: Active, draft: list[int], logits: Tensor) -> int:
    """Chooses at each position; goes on as long as the choice is what was drafted. Forgets the rest."""
    before = len(item.history.output)
    chosen = 0
    for expected, row in zip([*draft, None], logits, strict=True):
        chosen += accept(item, row)
        if item.finished or item.history.output[-1] != expected:
            break
    if draft and item.lookup and item.cache is not None:
        item.lookup.report(len(draft), len(item.history.output) - before - 1)
        item.cache.truncate(len(item.prompt_ids) + len(item.history.output) - 1)
    return chosen


def accept(item: Active, logits: Tensor) -> int:
    """Chooses one token from a request's logits; 1, or 0 where its own sampling failed, which ends it alone."""
    with ending(item), torch.inference_mode():
        item.accept(logits)
        return 1
    return 0
