"""Claims held against sentences: what agrees is supported, what is mixed, swapped, turned or added is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from engine.agreement import disagreement
from engine.answers import Citation
from engine.sentences import around
from engine.verify import verify

LABELLED = json.loads((Path(__file__).parents[1] / "data" / "claims.json").read_text(encoding="utf-8"))
ROWS = [
    pytest.param(item["passage"], row["sentence"], row["supported"], row["claim"], id=row["claim"][:60])
    for item in LABELLED
    for row in item["claims"]
]


@pytest.mark.parametrize(("passage", "sentence", "supported", "claim"), ROWS)
def test_a_claim_is_supported_where_the_sentence_bears_it_out(
    passage: str, sentence: str, supported: bool, claim: str
) -> None:
    at = passage.index(sentence)
    start, end = around(passage, at, at + len(sentence))
    found = verify(claim, Citation("a", start, end, passage[start:end]), passage, 0.5)
    assert found.supported is supported, found.why
    assert bool(found.why) is not supported


@pytest.mark.parametrize("passage", [item["passage"] for item in LABELLED])
def test_every_sentence_bears_itself_out(passage: str) -> None:
    """Also when a word or a mark was changed that says nothing."""
    for sentence in re.findall(r"[^.]+\.(?= |$)", passage):
        start, end = around(passage, passage.index(sentence.strip()), passage.index(sentence) + 8)
        whole = passage[start:end]
        for claim in (whole, whole.removesuffix("."), whole.replace(", ", " , ")):
            found = verify(claim, Citation("a", start, end, whole), passage, 0.5)
            assert found.supported, (claim, found.why)


@pytest.mark.parametrize(
    ("claim", "sentence", "why"),
    [
        ("Ann built it.", "Ann drew it and Bob built it.", "something else"),
        ("Deer eat wolves.", "Wolves eat deer.", "sides"),
        ("All birds fly.", "Most birds fly.", "another share"),
        ("It is inactive.", "It is active.", "opposite"),
        ("It opened in May because of a strike.", "It opened in May.", "doesn't say"),
    ],
)
def test_an_objection_says_what_is_wrong(claim: str, sentence: str, why: str) -> None:
    assert why in disagreement(claim, sentence, "")


@pytest.mark.parametrize(
    "text", ["", " ", "…", "12", "A", "and", "() ;", "—", "不可能。", "a " * 3000, "1.2.3.4 5,6,7"]
)
def test_odd_text_is_held_against_odd_text(text: str) -> None:
    assert isinstance(disagreement(text, "It opened in 1932.", ""), str)
    assert isinstance(disagreement("It opened in 1932.", text, text), str)
