"""Long passages are asked in pieces, and what is found is told of the passage as it was given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import Passage
from engine.answers import Citation, Considered
from engine.ask import ask
from engine.embeddings import Embedder
from engine.llm import Engine
from engine.pieces import LONGEST, in_pieces
from engine.relevance import consider
from engine.thresholds import load_thresholds

FILLER = "The market opens at nine and the square fills with carts of barley. "
FACT = "The old bridge was designed by Ann Lee and opened in 1932. "
LONG = FILLER * 150 + FACT + FILLER * 3
WHEN = "When did the old bridge open?"


@pytest.mark.parametrize(
    "text", [LONG, "x" * 9000, "灯台は花崗岩で建てられました。" * 400, "a\n\n" * 4000, "short", FILLER * 59]
)
def test_pieces_are_the_text_at_their_places(text: str) -> None:
    pieces = in_pieces([Passage("first", "Something before."), Passage("it", text)])
    own = [p for p in pieces.passages if pieces.places[p.id][0] == "it"]
    assert len({p.id for p in pieces.passages}) == len(pieces.passages)
    for piece in own:
        citation = pieces.home(Citation(piece.id, 0, len(piece.text), piece.text))
        assert (citation.passage, text[citation.start : citation.end]) == ("it", piece.text)
        assert len(piece.text) <= LONGEST
    kept = "".join("".join(p.text.split()) for p in own)
    assert kept == "".join(text.split())
    if len(text) <= 2000 and text.isascii():
        assert [p.text for p in own] == [text]


def test_blank_passages_have_no_piece() -> None:
    assert in_pieces([Passage("a", " \n"), Passage("b", "")]).passages == ()


def test_an_id_that_looks_like_a_pieces_own_is_no_other() -> None:
    pieces = in_pieces([Passage("1.0", "One."), Passage("0.0", "Two.")])
    assert [pieces.places[p.id][0] for p in pieces.passages] == ["1.0", "0.0"]


def test_a_passage_is_told_of_once_by_its_best_piece() -> None:
    pieces = in_pieces([Passage("it", LONG), Passage("b", "Short.")])
    found = [Considered(p.id, 0.1, 0.1, n / 100, ()) for n, p in enumerate(pieces.passages)]
    told = pieces.considered(found, {pieces.passages[0].id: 0.2, pieces.passages[1].id: 0.9})
    assert [(c.passage, c.stated) for c in told] == [("it", 0.9), ("b", None)]
    assert told[0].relevance == pytest.approx((len(pieces.passages) - 2) / 100)


def test_words_at_the_end_of_a_long_passage_are_found(embedder: Embedder) -> None:
    pieces = in_pieces([Passage("it", LONG)])
    best = max(consider(WHEN, pieces.passages, embedder), key=lambda c: c.relevance)
    assert FACT.strip() in next(p.text for p in pieces.passages if p.id == best.passage)


def test_a_quote_from_a_long_passage_stands_at_its_place(engine: Engine, embedder: Embedder) -> None:
    told: list[str] = []
    result = ask(
        engine, embedder, WHEN, [Passage("it", LONG)], "quote", lambda name, data: told.append(f"{name} {data}"),
        thresholds=replace(load_thresholds(), stated=0.0, stated_alone=0.0),
    )  # fmt: skip
    assert (result.status, result.answer) == ("answered", "1932")
    citation = result.citations[0]
    assert citation.passage == "it"
    assert LONG[citation.start : citation.end] == citation.text == "1932"
    assert [p.passage for p in result.passages] == ["it"]
    claim = next(line for line in told if line.startswith("claim"))
    assert f"'start': {citation.start}" in claim and "'passage': 'it'" in claim
