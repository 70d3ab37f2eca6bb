"""How far a denial reaches, and which openings deny: read from the words alone, without the embedding model."""

from __future__ import annotations

import pytest

from engine.clauses import sentences

RIGHT = "the cache grows linearly with the number of tokens"


def denied(text: str) -> list[str]:
    """What each denial of a whole statement reaches, in the first sentence."""
    whole = sentences(text)[0]
    return [" ".join(w.text for w in whole.words[s.start : s.end]) for s in whole.scopes if s.whole]


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        (
            "It is not true that terminals 1, 2 and 3 are connected to the positive terminal.",
            "terminals 1 2 and 3 are connected to the positive terminal",
        ),
        ("It is false that keys, values, and positions are stored.", "keys values and positions are stored"),
        ("It is not true that the KV cache, per token, grows.", "the kv cache per token grows"),
        (
            "It is not true that if the switch is open, the bulb is off.",
            "if the switch is open the bulb is off",
        ),
        (
            "It is not true that the cache, which holds keys, grows linearly.",
            "the cache which holds keys grows linearly",
        ),
        (
            "It is not true that in a series circuit, the current is the same.",
            "in a series circuit the current is the same",
        ),
        ("It is not true that the cache grows, it stays constant.", "the cache grows"),
        ("It is not true that temperature divides logits, while top-p cuts.", "temperature divides logits"),
    ],
)
def test_a_denial_reaches_its_whole_statement_and_no_further(text: str, reached: str) -> None:
    assert denied(text)[0].startswith(reached)
    if "constant" in text or "while" in text:
        assert denied(text) == [reached]


@pytest.mark.parametrize(
    "opening",
    [
        "It is far from true that",
        "The following is false:",
        "It has been disproved that",
        "It seems wrong that",
        "It is definitely false that",
        "It is absolutely untrue that",
        "It is ridiculous to think that",
        "It is unlikely that",
        "It is not entirely true that",
        "There is no truth in the claim that",
        "Under no circumstances can one say that",
        "No expert would say that",
    ],
)
def test_an_opening_that_denies(opening: str) -> None:
    assert len(_over(f"{opening} {RIGHT}.")) % 2 == 1


@pytest.mark.parametrize(
    "opening",
    [
        "There is no denying that",
        "There is no question that",
        "Without a doubt",
        "It is no secret that",
        "It is no accident that",
        "It's no surprise that",
        "It is not surprising that",
        "It goes without saying that",
        "It's hard to deny that",
        "Never forget that",
        "Don't forget that",
        "It is important not to forget that",
        "People often forget that",
        "No wonder",
        "It is far from wrong that",
    ],
)
def test_an_opening_that_affirms_or_takes_for_granted(opening: str) -> None:
    assert len(_over(f"{opening} {RIGHT}.")) % 2 == 0


def _over(text: str) -> list[tuple[int, int]]:
    """The negations that reach the verb of RIGHT."""
    return [
        (scope.start, scope.end)
        for whole in sentences(text)
        for scope in whole.scopes
        if any(word.text == "grows" for word in whole.words[scope.start : scope.end])
    ]
