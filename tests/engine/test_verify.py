"""Claims against their citations: numbers, names, negation and direction decide, and quotes are found as they stand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.answers import Citation
from engine.sentences import around, sentence_spans
from engine.types import Passage
from engine.verify import cite, find_quote, judged, split_claims, verify

BRIDGE = (
    "The old bridge was designed by Ann Lee. It opened in 1932 after six years of work and cost 2.5 million dollars. "
    "Traffic does not pay a toll. A higher toll reduces traffic."
)


def sentence(words: str, text: str = BRIDGE) -> Citation:
    at = text.index(words)
    start, end = around(text, at, at + len(words))
    return Citation("a", start, end, text[start:end])


def verdict(claim: str, words: str, text: str = BRIDGE) -> tuple[bool, str]:
    found = verify(claim, sentence(words, text), text, 0.5)
    return found.supported, found.why


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("It opened in 1932.", "1932"),
        ("The bridge opened in 1932 after six years.", "1932"),
        ("Ann Lee designed the old bridge.", "Ann Lee"),
        ("It cost 2,500,000 dollars.", "million"),
        ("It took 6 years of work.", "six"),
        ("It took about 6 years of work.", "six"),
        ("Traffic pays no toll.", "does not pay"),
        ("A higher toll lowers traffic.", "reduces"),
    ],
)
def test_what_the_passage_says_is_supported(claim: str, words: str) -> None:
    assert verdict(claim, words) == (True, "")


@pytest.mark.parametrize(
    ("claim", "words", "why"),
    [
        ("It opened in 1923.", "1932", "the passage doesn't give 1923"),
        ("It cost 2.5 billion dollars.", "million", "the passage doesn't give 2.5 billion dollars"),
        ("It took seven years of work.", "six", "the passage doesn't give seven years"),
        ("The old bridge was designed by Bea Lee.", "Ann Lee", "the passage doesn't name Bea"),
        ("It was not designed by Ann Lee.", "Ann Lee", "the passage says the opposite"),
        ("Traffic does pay a toll.", "does not pay", "the passage says the opposite"),
        ("A higher toll increases traffic.", "reduces", "the passage says the opposite"),
        ("Did it open in 1932?", "1932", "a question states nothing"),
        ("Penguins live on ice and eat fish.", "Ann Lee", "the passage doesn't say “on ice and eat fish”"),
    ],
)
def test_what_it_does_not_say_is_not(claim: str, words: str, why: str) -> None:
    assert verdict(claim, words) == (False, why)


def test_a_citation_that_is_not_there_supports_nothing() -> None:
    made_up = Citation("a", 0, 10, "never said")
    assert not verify("It opened in 1932.", made_up, BRIDGE, 0.5).supported
    assert judged("It opened.", Citation("z", 0, 3, "The"), {"a": BRIDGE}, 0.5).citation is None
    assert not judged("It opened.", None, {"a": BRIDGE}, 0.5).supported


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("opened in 1932", "opened in 1932"),
        ("  opened   in\n1932 ", "opened in 1932"),
        ("Opened in 1932", "opened in 1932"),
        ("ann lee", "Ann Lee"),
        ("op\u200bened in 1932", "opened in 1932"),
        ("оpened in 1932", "opened in 1932"),  # a Cyrillic letter
    ],
)
def test_a_quote_is_found_as_it_stands(quote: str, there: str) -> None:
    span = find_quote(quote, BRIDGE)
    assert span is not None
    assert BRIDGE[slice(*span)] == there


def test_a_quote_that_is_not_there_is_not_found() -> None:
    assert find_quote("opened in 1933", BRIDGE) is None
    assert find_quote("  ", BRIDGE) is None
    assert find_quote("opened (in", BRIDGE) is None


def test_hidden_characters_in_the_passage_keep_their_offsets() -> None:
    text = "It op\u200bened in “1932” – late."
    span = find_quote('opened in "1932"', text)
    assert span is not None
    assert text[slice(*span)] == "op\u200bened in “1932”"


def test_sentences_keep_initials_and_abbreviations_whole() -> None:
    text = "Dr. A. Lee built it, e.g. in 1932. Was it late? Yes!\n\n- one\n- two"
    assert split_claims(text) == [
        "Dr. A. Lee built it, e.g. in 1932.",
        "Was it late?",
        "Yes!",
        "- one",
        "- two",
    ]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_sentences_lie_in_the_text_in_order_and_lose_nothing(text: str) -> None:
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    kept = "".join(text[start:end] for start, end in spans)
    assert "".join(kept.split()) == "".join(text.split())


def test_a_claim_is_cited_where_most_of_its_words_stand() -> None:
    passages = [Passage("a", "A river runs here. It is long."), Passage("b", BRIDGE)]
    found = cite("The bridge opened in 1932.", passages)
    assert found is not None
    assert (found.passage, found.text[:14]) == ("b", "It opened in 1")
    assert cite("Xylophones.", passages) is None
