"""Small heads on the decoder's last hidden states: classes of a text, and a span of a passage.

A span head is a pointer: what the last token asks for is compared with every token of the passage.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

MAX_SPAN = 40


def class_logits(tensors: Mapping[str, Tensor], last: Tensor) -> Tensor:
    """Logits [classes] of a hidden state [hidden]; several states [n, hidden] give [n, classes]."""
    return torch.nn.functional.linear(last, tensors["head.weight"], tensors["head.bias"])


def span_logits(tensors: Mapping[str, Tensor], last: Tensor, passage: Tensor) -> tuple[Tensor, Tensor]:
    """Start and end logits [questions, tokens] of last [questions, hidden] over passage [tokens, hidden]."""
    start, end = (_pointer(tensors, name, last, passage) for name in ("start", "end"))
    return start, end


def _pointer(tensors: Mapping[str, Tensor], name: str, last: Tensor, passage: Tensor) -> Tensor:
    query = torch.nn.functional.linear(last, tensors[f"{name}.query"])
    keys = torch.nn.functional.linear(passage, tensors[f"{name}.key"])
    alone = passage @ tensors[f"{name}.bias"]
    scaled: Tensor = query @ keys.T / query.shape[-1] ** 0.5
    return scaled + alone


def best_span(start: Tensor, end: Tensor) -> tuple[int, int, float]:
    """The most likely (first, last) of at most MAX_SPAN tokens and its probability, from logits [tokens]."""
    p_start, p_end = start.softmax(-1), end.softmax(-1)
    joint = torch.outer(p_start, p_end).triu().tril(MAX_SPAN - 1)
    at = int(joint.argmax())
    first, last = divmod(at, joint.shape[1])
    return first, last, float(joint[first, last])
