"""One face over tokenizers, whatever made them: ids, bytes, places in the text, and what becomes of control tokens.

Behind it stand tiktoken's ranked bytes, a `tokenizer.json`, or a model's own tokenizer (`encoders.py`, `tokenizer.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from engine.encoders import Encoder
from engine.errors import InvalidRequest

# What a control token's name in the text is: plain text, that token, or a reason to refuse the text.
Policy = Literal["text", "control", "refuse"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A token of a text: its bytes, and the characters [start, end) that they touch."""

    token_id: int
    spelled: bytes
    start: int
    end: int


class Encoding:
    """A tokenizer with its control tokens by name; `nfc` where it reads text in that normal form."""

    def __init__(self, encoder: Encoder, controls: Mapping[str, int], *, nfc: bool = False) -> None:
        self.encoder, self.controls, self.nfc = encoder, dict(controls), nfc
        self.names = {i: name for name, i in self.controls.items()}
        longest_first = sorted(self.controls, key=len, reverse=True)
        self.splitter = re.compile(
            "(" + "|".join(map(re.escape, longest_first)) + ")" if longest_first else r"(?!)()"
        )

    def normal(self, text: str) -> str:
        """The text as the tokenizer reads it."""
        return unicodedata.normalize("NFC", text) if self.nfc else text

    def encode(self, text: str, special: Policy = "text") -> list[int]:
        """Ids of a text. Raises `InvalidRequest` for an unknown policy, or a control token where they are refused."""
        if special not in get_args(Policy):
            allowed = ", ".join(get_args(Policy))
            raise InvalidRequest("invalid_request", f"special is {special!r}; allowed: {allowed}", "special")
        text = self.normal(text)
        if special == "refuse" and (name := self.control_in(text)):
            raise InvalidRequest(
                "special_token", f"the text holds the control token {name}; remove it", "text"
            )
        if special != "control":
            return self.encoder.plain(text)
        ids: list[int] = []
        for piece, token in self.split(text):
            ids += self.encoder.plain(piece) if token is None else [token]
        return ids

    def split(self, text: str) -> Iterator[tuple[str, int | None]]:
        """Stretches of plain text, and the control tokens between them with their ids."""
        for piece in self.splitter.split(text):
            if piece:
                yield piece, self.controls.get(piece)

    def control_in(self, text: str) -> str | None:
        """The first control token that the text names."""
        found = self.splitter.search(text)
        return found[0] if found else None

    def spelling(self, token: int) -> bytes:
        """The bytes of a token; a control token's are its name."""
        name = self.names.get(token)
        return self.encoder.spelling(token) if name is None else name.encode()

    def decode(self, ids: Sequence[int]) -> str:
        """The text that the tokens spell; incomplete characters become U+FFFD."""
        return b"".join(map(self.spelling, ids)).decode("utf-8", "replace")

    def pieces(self, text: str, special: Policy = "text") -> list[Piece]:
        """Tokens with their places in `normal(text)`. Raises `InvalidRequest` as `encode` does, and where a tokenizer
        doesn't spell the text as it stands.
        """
        ids, text = self.encode(text, special), self.normal(text)
        spelled = [self.spelling(i) for i in ids]
        whole, written = b"".join(spelled), text.encode("utf-8", "surrogatepass")
        # SentencePiece begins a text with a space that isn't in it.
        before = int(whole == b" " + written)
        if whole[before:] != written:
            raise InvalidRequest("no_places", "the tokens don't spell this text byte by byte", "text")
        found = places([len(s) for s in spelled], text, before)
        return [Piece(i, s, start, end) for i, s, (start, end) in zip(ids, spelled, found, strict=True)]


def places(sizes: Sequence[int], text: str, before: int = 0) -> list[tuple[int, int]]:
    """The characters that each token touches, from the tokens' sizes in bytes; (0, 0) for one that touches none.

    `before` bytes stand before the text and count for no character.
    """
    owner = [i for i, char in enumerate(text) for _ in char.encode("utf-8", "surrogatepass")]
    found, at = [], -before
    for size in sizes:
        touched = owner[max(0, at) : max(0, at + size)]
        found.append((touched[0], touched[-1] + 1) if touched else (0, 0))
        at += size
    return found
