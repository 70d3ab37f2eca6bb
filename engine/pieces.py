"""Long passages in pieces that the reader can hold; what is found in a piece is told of the passage it was cut from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.answers import Citation, Considered
from engine.sentences import sentence_spans
from engine.types import Passage

LONGEST = 4000  # of the weight below: under the reader's 1200 tokens in English
BEYOND_ASCII = 3  # tokens that such a letter takes, against a quarter or so of one


@dataclass(frozen=True, slots=True)
class Pieces:
    """Passages cut where they are long; `places` leads from a piece's id to its passage and where in it the piece begins."""

    passages: tuple[Passage, ...]
    places: Mapping[str, tuple[str, int]]

    def home(self, citation: Citation) -> Citation:
        """The same characters, told of the passage as it was given."""
        passage, offset = self.places[citation.passage]
        return replace(citation, passage=passage, start=citation.start + offset, end=citation.end + offset)

    def considered(self, found: Sequence[Considered], stated: Mapping[str, float]) -> tuple[Considered, ...]:
        """Each passage once, as its most relevant piece was found, with the highest of its pieces' `stated`."""
        best: dict[str, Considered] = {}
        sure = self.stated(stated)
        for one in found:
            passage, _ = self.places[one.passage]
            if passage not in best or one.relevance > best[passage].relevance:
                best[passage] = replace(one, passage=passage, stated=sure.get(passage))
        return tuple(best.values())

    def stated(self, stated: Mapping[str, float]) -> dict[str, float]:
        """The highest value of each passage's pieces."""
        found: dict[str, float] = {}
        for piece, value in stated.items():
            passage, _ = self.places[piece]
            found[passage] = max(value, found.get(passage, value))
        return found


def in_pieces(passages: Sequence[Passage]) -> Pieces:
    """Every passage that has text, the long ones in whole sentences."""
    cut: list[Passage] = []
    places: dict[str, tuple[str, int]] = {}
    for number, passage in enumerate(passages):
        spans = _spans(passage.text)
        for start, end in spans:
            # A piece's own id can't be one that was given: those may hold anything.
            name = f"{number}.{start}"
            cut.append(Passage(name, passage.text[start:end]))
            places[name] = (passage.id, start)
    return Pieces(tuple(cut), places)


def _spans(text: str) -> list[tuple[int, int]]:
    if not text.strip():
        return []
    if _weight(text) <= LONGEST:
        return [(0, len(text))]
    found: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        if found and _weight(text[found[-1][0] : end]) <= LONGEST:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _weight(text: str) -> int:
    return len(text) + (BEYOND_ASCII - 1) * sum(not letter.isascii() for letter in text)
