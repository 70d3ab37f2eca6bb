"""SentencePiece's byte pairs as a GGUF file has them (Llama 2, the first Mistral): pieces with scores, no merges.

Neighbours join into the piece with the highest score, the leftmost of equal ones first, until none fits (Kudo and Richardson
2018, arXiv 1808.06226). A space is written ▁, and what no piece spells goes byte by byte.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
SPACE = "\u2581"
HEX = re.compile(r"<0x([0-9A-Fa-f]{2})>")
KEPT = 50_000  # words whose ids are remembered


class SentencePieces:
    """Text to ids and ids to bytes, from the file's tokens, scores and types."""

    def __init__(
        self,
        tokens: Sequence[str],
        scores: Sequence[float],
        kinds: Sequence[int],
        *,
        space_first: bool = True,
    ) -> None:
        rows = list(zip(tokens, kinds, strict=True))
        self.space_first = space_first
        self.ids = {token: i for i, (token, kind) in enumerate(rows) if kind in (NORMAL, UNUSED)}
        self.scores = {token: scores[i] for token, i in self.ids.items()}
        self.words = {token: i for i, (token, kind) in enumerate(rows) if kind == USER_DEFINED}
        self.bytes = {
            int(m[1], 16): i for i, (t, kind) in enumerate(rows) if kind == BYTE and (m := HEX.fullmatch(t))
        }
        self.unknown = next((i for i, (_, kind) in enumerate(rows) if kind == UNKNOWN), None)
        self.spelled = [_spelling(token, kind) for token, kind in rows]
        # Only characters that stand side by side in some piece can end up in one.
        self.neighbours = {token[i : i + 2] for token in self.ids for i in range(len(token) - 1)}
        longest = sorted(self.words, key=len, reverse=True)
        self.splitter = re.compile("(" + "|".join(map(re.escape, longest)) + ")") if longest else None
        self._word = lru_cache(maxsize=KEPT)(self._joined)

    def encode(self, text: str) -> list[int]:
        """Ids of a text in which nothing is a control token."""
        found: list[int] = []
        for part in self.splitter.split(text) if self.splitter else [text]:
            if part in self.words:
                found.append(self.words[part])
            elif part:
                # A stretch begins with a space, as if it were a word in a sentence.
                for word in self._apart((SPACE if self.space_first else "") + part.replace(" ", SPACE)):
                    found += self._word(word)
        return found

    def _apart(self, text: str) -> Iterator[str]:
        """The text in parts that no piece reaches across."""
        start = 0
        for i in range(1, len(text)):
            if text[i - 1 : i + 1] not in self.neighbours:
                yield text[start:i]
                start = i
        yield text[start:]

    def _joined(self, word: str) -> tuple[int, ...]:
        """The ids of one part."""
        parts, after, before = list(word), list(range(1, len(word) + 1)), list(range(-1, len(word) - 1))
        waiting: list[tuple[float, int, str]] = []

        def propose(left: int) -> None:
            if left >= 0 and after[left] < len(parts):
                both = parts[left] + parts[after[left]]
                if both in self.scores:
                    heapq.heappush(waiting, (-self.scores[both], left, both))

        for i in range(len(parts) - 1):
            propose(i)
        while waiting:
            _, left, both = heapq.heappop(waiting)
            right = after[left]
            # One of the two may have joined another since.
            if not parts[left] or right >= len(parts) or parts[left] + parts[right] != both:
                continue
            parts[left], parts[right] = both, ""
            after[left] = after[right]
            if after[left] < len(parts):
                before[after[left]] = left
            propose(before[left])
            propose(left)
        return tuple(i for part in parts if part for i in self._ids(part))

    def _ids(self, part: str) -> list[int]:
        if part in self.ids:
            return [self.ids[part]]
        written = part.encode()
        if all(byte in self.bytes for byte in written):
            return [self.bytes[byte] for byte in written]
        return [] if self.unknown is None else [self.unknown]


def _spelling(token: str, kind: int) -> bytes:
    """What a token adds to a text."""
    if kind == BYTE and (written := HEX.fullmatch(token)):
        return bytes([int(written[1], 16)])
    return (token if kind in (CONTROL, UNKNOWN, USER_DEFINED) else token.replace(SPACE, " ")).encode()
