"""Which passages go to the model: the best first, while the context budget holds, under ids made for this request."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interview.calculators.formulas.context_budget import BudgetInputs, context_budget
from interview.documents.searching import Hit

if TYPE_CHECKING:
    from engine import Engine

SYSTEM_TOKENS = 220  # the instructions, the chat template and the marks round each passage
RESERVED_OUTPUT = 256
MARKS = 16  # tokens of the marks round one passage


@dataclass(frozen=True)
class Packed:
    """The passages that fit, by the id they have in this request, and the arithmetic behind it."""

    passages: dict[str, Hit]
    left_out: int
    budget: dict[str, Any]


def pack(engine: Engine, question: str, hits: list[Hit]) -> Packed:
    """Keep hits by falling score while they fit beside the instructions, the question and the answer's room."""
    inputs = BudgetInputs(
        window=engine.card.context_length,
        system=SYSTEM_TOKENS,
        tools=0,
        reserved_output=RESERVED_OUTPUT,
        chunks=0,
        tokens_per_chunk=0,
        message=len(engine.tokenizer.encode(question)),
    )
    room = int(context_budget(inputs).results["tokens_left"]) - inputs.message
    passages: dict[str, Hit] = {}
    sizes: list[int] = []
    for hit in hits:
        size = len(engine.tokenizer.encode(hit.text)) + MARKS
        if size <= room:
            room -= size
            sizes.append(size)
            passages[minted(passages)] = hit
    budget = {
        "window": inputs.window,
        "system": inputs.system,
        "reserved_output": inputs.reserved_output,
        "message": inputs.message,
        "passages": sizes,
        "left": room,
    }
    return Packed(passages, len(hits) - len(passages), budget)


def minted(taken: dict[str, Hit]) -> str:
    """An id nobody could have written into a document."""
    while (name := secrets.token_hex(3)) in taken:
        pass
    return name
