"""The two sorts of tokenizer: ranked bytes (tiktoken) and a `tokenizer.json` (tokenizers), behind one face.

Both encode plain text without ever making a control token; control tokens are split off by their names beforehand.
"""

from __future__ import annotations

import base64
import json
import re
from functools import cached_property
from typing import Any, Protocol

import tiktoken
from tokenizers import Tokenizer

from engine.long_spaces import cut

HEX = re.compile(r"<0x([0-9A-F]{2})>")
SPACE = "\u2581"


class Encoder(Protocol):
    """Text to ids and ids to bytes."""

    def plain(self, text: str) -> list[int]:
        """Ids of a text in which nothing is a control token."""
        ...

    def spelling(self, token: int) -> bytes:
        """The bytes a token stands for."""
        ...


def ranks_of(lines: bytes) -> dict[bytes, int]:
    """The ranks of a .tiktoken file: base64 of the bytes, then the rank."""
    return {base64.b64decode(t): int(rank) for t, rank in (x.split() for x in lines.splitlines() if x)}


class RankEncoder:
    """Byte pairs merged by rank; ids are ranks plus `offset`."""

    def __init__(self, name: str, pattern: str, ranks: dict[bytes, int], offset: int = 0) -> None:
        self.inner = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        self.inner._mergeable_ranks = {}  # its Python copy, up to 30 MB, serves pickling only
        self.offset = offset
        self.cuts_spaces = r"\s*[\r\n]+" in pattern
        self.marks_are_letters = r"\p{M}" in pattern

    def plain(self, text: str) -> list[int]:
        """As the protocol says."""
        if not self.cuts_spaces:
            found = self.inner.encode_ordinary(text)
        else:
            found = []
            for part, is_piece in cut(text, marks_are_letters=self.marks_are_letters):
                found += self._piece(part) if is_piece else self.inner.encode_ordinary(part)
        return [i + self.offset for i in found] if self.offset else found

    def _piece(self, text: str) -> list[int]:
        return self.inner._encode_single_piece(text) if text else []

    def spelling(self, token: int) -> bytes:
        """As the protocol says."""
        return self.inner.decode_single_token_bytes(token - self.offset)


def tekken(raw: bytes) -> RankEncoder:
    """Mistral's file: the first 1,000 ids are control tokens, the vocabulary is cut to what the model has."""
    data = json.loads(raw)
    config = data["config"]
    special = config["default_num_special_tokens"]
    size = config["default_vocab_size"] - special
    ranks = {base64.b64decode(row["token_bytes"]): row["rank"] for row in data["vocab"][:size]}
    return RankEncoder("tekken", config["pattern"], ranks, special)


class JsonEncoder:
    """A `tokenizer.json`, its control tokens taken out so that text can't become one."""

    def __init__(self, data: dict[str, Any], controls: set[str]) -> None:
        kept = [t for t in data.get("added_tokens", []) if t["content"] not in controls]
        self.is_sentencepiece = bool(data["model"].get("byte_fallback"))
        self.inner = Tokenizer.from_str(json.dumps({**data, "added_tokens": kept, "post_processor": None}))

    def plain(self, text: str) -> list[int]:
        """As the protocol says."""
        found: list[int] = self.inner.encode(text, add_special_tokens=False).ids if text else []
        return found

    def spelling(self, token: int) -> bytes:
        """As the protocol says."""
        name: str = self.inner.id_to_token(token) or ""
        if self.is_sentencepiece:
            byte = HEX.fullmatch(name)
            return bytes([int(byte[1], 16)]) if byte else name.replace(SPACE, " ").encode()
        if all(c in self._letters for c in name):
            return bytes(self._letters[c] for c in name)
        return name.encode()

    @cached_property
    def _letters(self) -> dict[str, int]:
        return byte_letters()


def byte_letters() -> dict[str, int]:
    """GPT-2's printable letter for each byte, inverted (Radford et al. 2019, `bytes_to_unicode`)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(moved)}


def controls_of(data: dict[str, Any]) -> dict[str, int]:
    """The control tokens of a `tokenizer.json`: those marked special, and those in DeepSeek's wide bars."""
    return {
        t["content"]: t["id"]
        for t in data.get("added_tokens", [])
        if t["special"] or (t["content"].startswith("<｜") and "place▁holder" not in t["content"])
    }
