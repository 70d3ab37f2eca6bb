"""One face over three kinds of tokenizer: OpenAI's ranks, a tokenizer.json, the engine's own from a GGUF file."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidRequest
from engine.encoding import Encoding, places
from engine.llm import Engine
from interview.calculators.formulas.encodings import encoding

NAMES = ["r50k_base", "cl100k_base", "o200k_base", "qwen"]
CONTROL = {"qwen": "<|im_end|>"}
TEXT = "naïve 数学 👩‍🚀 ends"


def every(engine: Engine) -> list[tuple[Encoding, str]]:
    found = [(encoding(name), CONTROL.get(name, "<|endoftext|>")) for name in NAMES]
    return [*found, (engine.tokenizer.encoding, "<|im_end|>")]


def test_a_control_token_is_text_itself_or_refused(engine: Engine) -> None:
    for one, name in every(engine):
        text = f"before {name} after"
        as_text, as_control = one.encode(text), one.encode(text, "control")
        assert one.controls[name] not in as_text and one.controls[name] in as_control
        assert one.decode(as_text) == one.decode(as_control) == text
        with pytest.raises(InvalidRequest, match="holds the control token") as refused:
            one.encode(text, "refuse")
        assert (refused.value.code, refused.value.field) == ("special_token", "text")
        assert one.encode(TEXT, "refuse") == one.encode(TEXT)
        with pytest.raises(InvalidRequest, match="text, control, refuse"):
            one.encode(text, "maybe")


def test_pieces_have_their_bytes_and_places(engine: Engine) -> None:
    for one, name in every(engine):
        text = f"{TEXT} {name}"
        pieces = one.pieces(text, "control")
        assert b"".join(p.spelled for p in pieces) == text.encode()
        assert pieces[-1].token_id == one.controls[name] and text[pieces[-1].start : pieces[-1].end] == name
        assert (pieces[0].start, pieces[-1].end) == (0, len(text))
        for piece, following in pairwise(pieces):
            # Tokens that share a character's bytes touch the same character.
            assert piece.start < piece.end and following.start in (piece.end, piece.end - 1)


@given(st.text(max_size=40))
def test_any_text_is_spelled_and_placed(text: str) -> None:
    one = encoding("cl100k_base")
    text = text.encode("utf-8", "replace").decode()
    pieces = one.pieces(text)
    assert one.decode([p.token_id for p in pieces]) == text
    assert {i for p in pieces for i in range(p.start, p.end)} == set(range(len(text)))


def test_what_a_tokenizer_normalises_is_placed_in_the_normal_form() -> None:
    one = encoding("qwen")
    pieces = one.pieces("e\u0301!")
    assert b"".join(p.spelled for p in pieces).decode() == one.normal("e\u0301!") == "\u00e9!"
    assert pieces[-1].end == 2


def test_bytes_before_the_text_are_nobody_s() -> None:
    assert places([1, 3, 2], "ab数", before=1) == [(0, 0), (0, 3), (2, 3)]
    assert places([2], "", before=1) == [(0, 0)]
