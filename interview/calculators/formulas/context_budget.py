"""Context budget: what is left of the window after everything that must be in it, and how many turns fit.

budget = window - system - tools - reserved output - safety; retrieved chunks go in by relevance, then the current
message, then history, newest turns first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from interview.calculators.formulas.lists import named_numbers
from interview.calculators.formulas.parameters import choice, real, refuse, text, whole
from interview.calculators.formulas.result import (
    Chart,
    Headline,
    Result,
    Series,
    Table,
    Value,
    Working,
    program,
)
from interview.calculators.formulas.units import grouped

SHOWN_TURNS = 12
MOST = 10**8


@dataclass(frozen=True, slots=True)
class BudgetInputs:
    """A window and what has to go into it, in tokens."""

    window: int = whole(128_000, "Window", unit="tokens", high=MOST)
    system: int = whole(1200, "System prompt", unit="tokens", low=0, high=MOST)
    tools: int = whole(3500, "Tool definitions", unit="tokens", low=0, high=MOST)
    reserved_output: int = whole(4096, "Reserved for the answer", unit="tokens", low=0, high=MOST)
    safety_fraction: float = real(0.05, "Safety margin", unit="of the window", high=1.0)
    safety_rounding: str = choice(
        "ceil", "Margin rounded", [("ceil", "up"), ("floor", "down")], group="Details"
    )
    chunks: int = whole(8, "Retrieved chunks", low=0, high=10**5)
    tokens_per_chunk: int = whole(512, "Tokens a chunk", low=0, high=MOST)
    relevance: str = text(
        "",
        "Chunks by relevance",
        longest=4000,
        rows=4,
        group="Details",
        hint="name relevance:tokens, one a line; instead of the two numbers",
    )
    history: int = whole(0, "History so far", unit="tokens", low=0, high=MOST)
    message: int = whole(350, "Current message", unit="tokens", low=0, high=MOST)
    turn_user: int = whole(350, "A turn’s question", unit="tokens", low=0, high=MOST)
    turn_assistant: int = whole(450, "A turn’s answer", unit="tokens", low=0, high=MOST)
    policy: str = choice(
        "trim",
        "When it is full",
        [("trim", "drop the oldest turns"), ("summarise", "summarise them")],
        group="Details",
    )
    summary_fraction: float = real(0.1, "A summary keeps", unit="of the tokens", high=1.0, group="Details")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrieved passage: how relevant, how long, and whether it was kept."""

    name: str
    relevance: float
    tokens: int
    kept: bool


def context_budget(inputs: BudgetInputs) -> Result:
    """What is left, what fits and what has to go. Raises InputErrors for a relevance list that can't be read."""
    working = _fixed(inputs)
    chunks = _chunks(inputs, max(0, int(working.names["before_chunks"])))
    working.given(chunk_tokens=sum(c.tokens for c in chunks if c.kept))
    left = working.whole(
        "balance", "After passages and history", "before_chunks - chunk_tokens - history", "tokens"
    )
    over = working.whole("tokens_over", "Too much, with the message", "max(0, message - balance)", "tokens")
    code = "max(0, balance - message)" if over else "max(0, balance)"
    remaining = working.whole("tokens_left", "Left for message and new turns", code, "tokens")
    turns = _turns(inputs, left)
    working.given(turn=inputs.turn_user + inputs.turn_assistant)
    room = left - inputs.message
    fits = inputs.turn_user + inputs.turn_assistant > 0 and room >= 0
    if fits:
        working.step(
            "turns_that_fit", "Full turns that fit", "floor((tokens_left - message) / turn)", "turns"
        )
    return Result(
        headline=Headline(
            grouped(remaining), "tokens left", f"{turns} more turns fit", _exact(inputs, over, remaining)
        ),
        results=_results(inputs, working, chunks, turns),
        steps=tuple(working.steps),
        warnings=_warnings(inputs, over, chunks, turns),
        charts=(_parts(inputs, chunks, left), _turn_chart(inputs, left)),
        tables=(*_chunk_table(chunks), _turn_table(inputs, left)),
        program=program("Context budget", working, "tokens_left"),
    )


def _fixed(inputs: BudgetInputs) -> Working:
    working = Working()
    working.given(
        window=inputs.window,
        system=inputs.system,
        tools=inputs.tools,
        reserved_output=inputs.reserved_output,
        safety_fraction=Fraction(str(inputs.safety_fraction)),
        history=inputs.history,
        message=inputs.message,
    )
    working.step(
        "fixed_tokens", "System, tools and room for the answer", "system + tools + reserved_output", "tokens"
    )
    working.step(
        "safety_tokens", "Safety margin", f"{inputs.safety_rounding}(window * safety_fraction)", "tokens"
    )
    working.step(
        "before_chunks",
        "Budget for passages, message and history",
        "window - fixed_tokens - safety_tokens",
        "tokens",
    )
    return working


def _chunks(inputs: BudgetInputs, budget: int) -> list[Chunk]:
    """Passages by falling relevance, kept while they fit beside message and history."""
    room = budget - inputs.message
    kept = []
    for name, relevance, tokens in _asked(inputs):
        fits = tokens <= room or not inputs.relevance.strip()
        room -= tokens if fits else 0
        kept.append(Chunk(name, relevance, tokens, fits))
    return kept


def _asked(inputs: BudgetInputs) -> list[tuple[str, float, int]]:
    if not inputs.relevance.strip():
        total = inputs.chunks * inputs.tokens_per_chunk
        return [("all chunks", 1.0, total)] if total else []
    rows: list[tuple[str, float, int]] = []
    for line in inputs.relevance.split("\n"):
        if line.strip():
            head, _, size = line.rpartition(":")
            name, relevance = named_numbers("relevance", head, most=1, unnamed="chunk")[0]
            tokens = size.strip()
            if not (tokens.isascii() and tokens.isdigit() and len(tokens) < 10):
                raise refuse("relevance", "each line is: name relevance:tokens, such as “faq 0.92:480”")
            rows.append((f"{name} ({len(rows) + 1})" if name == "chunk 0" else name, relevance, int(tokens)))
    return sorted(rows, key=lambda r: -r[1])


def _turns(inputs: BudgetInputs, left: int) -> int:
    turn = inputs.turn_user + inputs.turn_assistant
    return max(0, (left - inputs.message) // turn) if turn else 0


def _exact(inputs: BudgetInputs, over: int, left: int) -> str:
    if over:
        return f"{grouped(over)} tokens too many"
    return f"of {grouped(inputs.window)} in the window; about {grouped(int(0.75 * left))} words"


def _results(inputs: BudgetInputs, working: Working, chunks: list[Chunk], turns: int) -> dict[str, Value]:
    left = int(working.names["balance"])
    room = max(0, left - inputs.message)
    turn = inputs.turn_user + inputs.turn_assistant
    return {
        "tokens_left": int(working.names["tokens_left"]),
        "tokens_over": int(working.names["tokens_over"]),
        "safety_tokens": int(working.names["safety_tokens"]),
        "fixed_tokens": int(working.names["fixed_tokens"]),
        "chunk_tokens": sum(c.tokens for c in chunks if c.kept),
        "chunks_kept": inputs.chunks if not inputs.relevance.strip() else sum(c.kept for c in chunks),
        "available_for_history_and_message": max(0, left + inputs.history),
        "full_past_turns": turns,
        "turns_that_fit": turns,
        "first_turn_that_does_not_fit": turns + 1 if turn else 0,
        "left_over": room - turns * turn,
        "words_left": int(0.75 * int(working.names["tokens_left"])),
    }


def _warnings(inputs: BudgetInputs, over: int, chunks: list[Chunk], turns: int) -> tuple[str, ...]:
    said = []
    if over:
        said.append(
            f"What must be in the window is {grouped(over)} tokens more than it holds. A negative budget is not a number "
            f"of turns: {_advice(inputs, chunks)}."
        )
    elif inputs.turn_user + inputs.turn_assistant:
        said.append(f"Turn {turns + 1} does not fit: {_what_happens(inputs)}")
    if inputs.reserved_output >= inputs.window / 2:
        said.append(
            "Half the window or more is reserved for the answer; reserve what answers really take, not the ceiling."
        )
    dropped = [c.name for c in chunks if not c.kept]
    if dropped:
        said.append(f"Left out for want of room, least relevant last: {', '.join(dropped[:6])}.")
    if not inputs.reserved_output:
        said.append("Nothing is reserved for the answer: whatever is left is all the answer can use.")
    return tuple(said)


def _advice(inputs: BudgetInputs, chunks: list[Chunk]) -> str:
    """What can be made shorter: only what is there."""
    asked = (
        (inputs.history, "trim or summarise history first"),
        (inputs.message, "shorten the message"),
        (inputs.system + inputs.tools, "shorten the prompt"),
        (sum(c.tokens for c in chunks if c.kept), "keep fewer passages"),
        (inputs.reserved_output, "reserve less for the answer"),
    )
    said = [advice for tokens, advice in asked if tokens] or ["keep a smaller margin"]
    return ", ".join(said[:-1]) + (" or " if len(said) > 1 else "") + said[-1]


def _what_happens(inputs: BudgetInputs) -> str:
    if inputs.policy == "trim":
        return "the oldest turns are dropped, and what they said is gone."
    kept = math.ceil(inputs.summary_fraction * (inputs.turn_user + inputs.turn_assistant))
    return f"the oldest turn becomes a summary of {grouped(kept)} tokens."


def _parts(inputs: BudgetInputs, chunks: list[Chunk], left: int) -> Chart:
    safety = inputs.window * Fraction(str(inputs.safety_fraction))
    shown = [
        ("system prompt", inputs.system),
        ("tool definitions", inputs.tools),
        ("reserved for the answer", inputs.reserved_output),
        ("safety margin", math.ceil(safety) if inputs.safety_rounding == "ceil" else math.floor(safety)),
        ("retrieved passages", sum(c.tokens for c in chunks if c.kept)),
        ("history", inputs.history),
        ("message and new turns", max(0, left)),
    ]
    points = tuple((float(i), float(n)) for i, (_, n) in enumerate(shown))
    names = tuple(name for name, _ in shown)
    return Chart(
        "bars", "The window", "part", "tokens", (Series("tokens", points),), "tokens", labels=names, shown=6
    )


def _by_turn(inputs: BudgetInputs, left: int) -> list[tuple[int, int, int]]:
    """(turn, history tokens kept, tokens left) turn by turn, trimming or summarising once it is full."""
    turn, room = inputs.turn_user + inputs.turn_assistant, max(0, left - inputs.message)
    count = min(10**6, room // turn + 4) if turn else 1
    shown = sorted({*range(1, min(count, SHOWN_TURNS) + 1), *range(max(1, count - 4), count + 1)})
    return [(n, *_kept(inputs, n, room, turn)) for n in shown]


def _kept(inputs: BudgetInputs, n: int, room: int, turn: int) -> tuple[int, int]:
    full = n * turn
    if full <= room:
        return full, room - full
    if inputs.policy == "trim":
        kept = room // turn * turn if turn else 0
        return kept, room - kept
    summary = math.ceil(inputs.summary_fraction * turn)
    gained = turn - summary
    summaries = min(n, -(-(full - room) // gained)) if gained > 0 else n
    kept = full - summaries * gained
    return (kept, room - kept) if kept <= room else (room, 0)


def _turn_chart(inputs: BudgetInputs, left: int) -> Chart:
    rows = _by_turn(inputs, left)
    kept = tuple((float(n), float(k)) for n, k, _ in rows)
    rest = tuple((float(n), float(r)) for n, _, r in rows)
    series = (Series("history kept", kept), Series("left", rest))
    return Chart("line", "Turn by turn", "turns", "tokens", series, "tokens")


def _turn_table(inputs: BudgetInputs, left: int) -> Table:
    turn, room = inputs.turn_user + inputs.turn_assistant, max(0, left - inputs.message)
    rows = tuple(
        (n, kept, rest, "fits" if n * turn <= room else f"does not fit: {inputs.policy}")
        for n, kept, rest in _by_turn(inputs, left)
    )
    return Table("Turn by turn", ("turn", "history kept (tokens)", "left (tokens)", "verdict"), rows)


def _chunk_table(chunks: list[Chunk]) -> list[Table]:
    if len(chunks) < 2:
        return []
    rows = tuple((c.name, c.relevance, c.tokens, "kept" if c.kept else "left out") for c in chunks)
    return [Table("Passages by relevance", ("passage", "relevance", "tokens", "verdict"), rows)]
