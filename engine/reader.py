"""How a passage and a question are laid out for the answerability adapter, and its answer read back.

The passage stands first, so that its keys and values are computed once for any number of questions.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.encoding import places
from engine.tokenizer import ModelTokenizer

OPENING = "Passage:"
QUESTION = "\n\nQuestion:"
ASKING = "\nAnswer:"
NOT_STATED = " not stated"
MAX_PASSAGE = 1200
MAX_QUESTION = 200
MAX_TAIL = MAX_QUESTION + 56  # the question with the words round it
TRIMMED = " \t\n\r,;:.!?"

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A passage as tokens: ids, where the text's own tokens begin, and the characters of each of them."""

    ids: tuple[int, ...]
    first: int
    spans: Spans


def encode_passage(tokenizer: ModelTokenizer, text: str) -> Encoded:
    """Ids of the opening and the passage; at most MAX_PASSAGE tokens of the text are kept."""
    opening = tokenizer.with_bos(tokenizer.encode_text(OPENING))
    ids = tokenizer.encode_text(f" {text}")[:MAX_PASSAGE]
    # A space stands before the text and counts for none of its characters.
    spans = places([len(tokenizer.token_bytes[i]) for i in ids], text, before=1)
    return Encoded((*opening, *ids), len(opening), tuple(spans))


def encode_question(tokenizer: ModelTokenizer, question: str) -> list[int]:
    """Ids of everything that follows the passage, up to where the answer would begin."""
    middle = tokenizer.encode_text(" " + " ".join(question.split()))[:MAX_QUESTION]
    return [*tokenizer.encode_text(QUESTION), *middle, *tokenizer.encode_text(ASKING)]


def token_span(spans: Spans, start: int, end: int) -> tuple[int, int] | None:
    """The first and last token that hold the characters [start, end); None where they were cut off."""
    touched = [i for i, (low, high) in enumerate(spans) if low < end and high > start]
    return (touched[0], touched[-1]) if touched and spans[touched[-1]][1] >= end else None


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the spaces and punctuation at its ends; a closing bracket keeps its opening one."""
    while start < end and text[start] in TRIMMED:
        start += 1
    while start < end and text[end - 1] in TRIMMED:
        end -= 1
    return start, end
