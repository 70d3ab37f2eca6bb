"""Prompts of an exact length in tokens."""

from __future__ import annotations

from engine.tokenizer import ModelTokenizer

PROSE = (
    "A market opens before sunrise. Traders carry crates of pears, onions and dried beans past the fountain, "
    "and the first visitors compare what each stall asks for a kilogram. Rain is expected by noon, so awnings "
    "go up early. Two clerks note every sale in a ledger; a third adds the columns and finds that the beans "
    "were counted twice. Nobody minds, because the error is small and the ledger shows how it came about. "
)
QUOTED = (
    "The committee met on the third floor and agreed on seven points. First, the archive stays open on "
    "weekdays. Second, each visitor signs the register. Third, copies are made at cost."
)
# Long enough to fill a paragraph, short enough to end inside a run.
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("summary", "place", "people", "weather", "mistake")},
    "required": ["summary", "place", "people", "weather", "mistake"],
    "additionalProperties": False,
}


def ids_of(tokenizer: ModelTokenizer, text: str) -> list[int]:
    """The ids a raw prompt has inside the engine."""
    return tokenizer.with_bos(tokenizer.encode(text))


def prompt_of(tokenizer: ModelTokenizer, size: int, variant: int = 0) -> str:
    """A text of exactly `size` tokens; variants differ from the first words on."""
    words = f"Day {variant + 1}. {PROSE * (size // 60 + 2)}".split(" ")
    low = 1
    while len(ids_of(tokenizer, " ".join(words[:low]))) < size and low < len(words):
        low += 1
    text = " ".join(words[:low])
    while len(ids_of(tokenizer, text)) > size:
        text = text[:-1]
    while len(ids_of(tokenizer, text)) < size:
        text += " a"
    return text
