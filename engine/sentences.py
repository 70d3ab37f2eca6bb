"""Sentences of a text as they stand in it: offsets, never rewritten."""

from __future__ import annotations

import re

# A break may follow these; what ends in an abbreviation or an initial is no end.
BREAK = re.compile(r"[.!?…。！？]+[\"'”’)\]]*\s+|\n\s*\n|\n(?=\s*(?:[-*•#|]|\d+[.)]))|[。！？]")
NO_END = re.compile(
    r"(?:\b(?:(?<!°)(?<!° )[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|No|Fig|vs|etc|approx|ca|c|cf|al|Jr|Sr|Inc|Ltd|Co|Gen|Col|Sgt|e\.g|i\.e))\.\s+$"
)
MAX_SENTENCE = 600


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The [start, end) of each sentence, without the space round it; very long ones are cut at a space."""
    found, start = [], 0
    for match in BREAK.finditer(text):
        if NO_END.search(text, max(start, match.start() - 12), match.end()):
            continue
        if match.group().strip() and text[match.end() : match.end() + 1].islower():
            continue
        found += _cut(text, start, match.end())
        start = match.end()
    return [*found, *_cut(text, start, len(text))]


def _cut(text: str, start: int, end: int) -> list[tuple[int, int]]:
    found = []
    while end - start > MAX_SENTENCE:
        space = text.rfind(" ", start + MAX_SENTENCE // 2, start + MAX_SENTENCE)
        middle = space if space > 0 else start + MAX_SENTENCE
        found.append((start, middle))
        start = middle
    found.append((start, end))
    return [span for span in (_tight(text, *f) for f in found) if span[1] > span[0]]


def _tight(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def around(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence or sentences that hold the span [start, end)."""
    touched = [s for s in sentence_spans(text) if s[0] < end and s[1] > start]
    return (touched[0][0], touched[-1][1]) if touched else (start, end)
