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


STATED = f"{RIGHT.capitalize()}. Attention is quadratic"


@pytest.mark.parametrize(
    "text",
    [
        f"{STATED} — none of this is true.",
        f"{STATED}. None of that is correct.",
        f"{STATED}. All of the above is false.",
        f"{STATED}. Everything I just said is wrong.",
        f"{STATED}. That is all made up.",
        f"{STATED}. The opposite is the case.",
        f"{STATED}. In fact it's the other way round: nothing grows.",
        f"{STATED}. Said nobody ever.",
        f"{STATED}. Just kidding!",
        f"The following is false: {STATED}.",
        f"I disagree with everything below. {STATED}.",
        f"Some people wrongly believe the following. {STATED}.",
    ],
)
def test_a_denial_of_all_that_was_said_reaches_every_sentence(text: str) -> None:
    assert all(_denied_words(text, word) for word in ("grows", "quadratic"))


@pytest.mark.parametrize(
    ("text", "word", "denied"),
    [
        (f"{STATED}. Some say that memory is free. The opposite is true.", "grows", False),
        (f"{STATED}. Some say that memory is free. The opposite is true.", "free", True),
        (f"{STATED}. Nothing else is needed.", "grows", False),
        (f"The following is false: memory is free. In fact {RIGHT}.", "grows", False),
        ("It is a myth that memory is free. That is wrong.", "free", True),
        (f"Myth: memory is free. Fact: {RIGHT}.", "free", True),
        (f"Myth: memory is free. Fact: {RIGHT}.", "grows", False),
        (f"False: {RIGHT}.", "grows", True),
        ("Wrong: it grows linearly.", "grows", False),
        (f"Contrary to the truth, {RIGHT}.", "grows", True),
        (f"Contrary to popular belief, {RIGHT}.", "grows", False),
        (f"As if {RIGHT}!", "grows", True),
        (f"Only a fool would say that {RIGHT}.", "grows", True),
        (f"Only a fool would deny that {RIGHT}.", "grows", False),
    ],
)
def test_a_denial_reaches_what_it_speaks_of(text: str, word: str, denied: bool) -> None:
    assert _denied_words(text, word) == denied


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        (f"It is not true that memory is free. {STATED}.", True),
        (f"Nobody should believe that memory is free. {STATED}.", True),
        (f"It is not true that memory is free. But {STATED}.", False),
        (f"It is not true that memory is free. In fact, {STATED}.", False),
        (f"Memory is dear. It is not true that it is free. {STATED}.", False),
    ],
)
def test_an_opening_denial_can_be_read_on_to_a_word_that_turns_back(text: str, carried: bool) -> None:
    assert not _denied_words(text, "grows")
    assert _denied_words(text, "grows", carry=True) == carried


def _denied_words(text: str, word: str, carry: bool = False) -> bool:
    """Whether the word stands in a statement that is denied as a whole."""
    return any(
        scope.whole and any(found.text == word for found in whole.words[scope.start : scope.end])
        for whole in sentences(text, carry)
        for scope in whole.scopes
    )


def _over(text: str) -> list[tuple[int, int]]:
    """The negations that reach the verb of RIGHT."""
    return [
        (scope.start, scope.end)
        for whole in sentences(text)
        for scope in whole.scopes
        if any(word.text == "grows" for word in whole.words[scope.start : scope.end])
    ]
