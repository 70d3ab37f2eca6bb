"""Prompt lookup: drafts are what followed the same n-gram earlier in prompt or output (Saxena 2023).

Each draft token is checked by choosing at its position with the request's own sampler and mask: a draft that
equals the
choice is kept, the first that differs ends the run. The output is what it would have been without drafts,
greedy or
sampled, and no random number is spent on a draft.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 7
NGRAM = 3
# Below this share of accepted drafts a step with drafts costs more time than it saves (see docs/engine.md).
WORTHWHILE = 0.35
TRIAL = 12
PAUSE = 48


class PromptLookup:
    """Finds drafts for one request and notices when they don't pay."""

    def __init__(self, prompt: Sequence[int], longest: int | None) -> None:
        self.longest = LONGEST if longest is None else longest
        self.adaptive = longest is None
        self.tokens: list[int] = []
        self.index: dict[tuple[int, ...], int] = {}
        self.proposed = 0
        self.accepted = 0
        self.steps = 0
        self._recent = (0, 0)
        self._resume = 0
        for token in prompt:
            self.add(token)

    def add(self, token: int) -> None:
        """Notes a token of prompt or output; the n-gram before it now has a known continuation."""
        if len(self.tokens) >= NGRAM:
            self.index[tuple(self.tokens[-NGRAM:])] = len(self.tokens)
        self.tokens.append(token)

    def draft(self, room: int) -> list[int]:
        """Up to `longest` and `room` tokens that followed the last n-gram before; empty without one."""
        size = min(self.longest, room)
        if size <= 0 or len(self.tokens) < max(NGRAM, self._resume):
            return []
        start = self.index.get(tuple(self.tokens[-NGRAM:]))
        return [] if start is None else self.tokens[start : start + size]

    def report(self, proposed: int, accepted: int) -> None:
        """Counts an outcome; drafts that keep failing are paused for a while."""
        self.proposed += proposed
        self.accepted += accepted
        self.steps += 1
        tried, right = self._recent[0] + proposed, self._recent[1] + accepted
        if self.adaptive and tried >= TRIAL:
            if right < WORTHWHILE * tried:
                self._resume = len(self.tokens) + PAUSE
            tried, right = 0, 0
        self._recent = (tried, right)
