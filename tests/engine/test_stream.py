"""What is released and what is held back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.stream import TextStream
from tests.engine.tiny import byte_tokenizer

TOKENIZER = byte_tokenizer()


def feed(text: str, stop: tuple[str, ...]) -> tuple[list[str], TextStream]:
    stream = TextStream(TOKENIZER, stop)
    pieces = []
    for byte in text.encode():
        pieces.append(stream.push(byte))
        if stream.stopped:
            break
    pieces.append(stream.finish())
    return pieces, stream


def test_an_unfinished_character_is_held_back() -> None:
    stream = TextStream(TOKENIZER, ())
    assert [stream.push(b) for b in "é€😀".encode()] == ["", "é", "", "", "€", "", "", "", "😀"]
    assert stream.push("é".encode()[0]) == ""
    assert stream.finish() == "\N{REPLACEMENT CHARACTER}"


def test_a_possible_stop_string_is_held_back_and_released_when_it_is_none() -> None:
    stream = TextStream(TOKENIZER, ("END",))
    assert [stream.push(b) for b in b"xENtEN"] == ["x", "", "", "ENt", "", ""]
    assert stream.finish() == "EN"


@given(
    st.text(alphabet="abé ", max_size=30),
    st.lists(st.text(alphabet="abé", min_size=1, max_size=4), max_size=3),
)
def test_no_part_of_a_stop_string_leaks(text: str, stops: list[str]) -> None:
    pieces, stream = feed(text, tuple(stops))
    released = "".join(pieces)
    assert released == stream.text
    cuts = [at for s in stops if (at := text.find(s)) >= 0]
    if not cuts:
        assert released == text
        return
    assert stream.stopped
    # The stream stops at the stop string that is complete first; nothing of it is out.
    assert text.startswith(released)
    assert all(s not in released for s in stops)
