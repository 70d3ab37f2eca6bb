"""Token ids to visible text, piece by piece: nothing is released that may still change or has to be cut."""

from __future__ import annotations

import codecs

from engine.tokenizer import ModelTokenizer


class TextStream:
    """Holds back bytes of an unfinished character and text that may be the start of a stop string."""

    def __init__(self, tokenizer: ModelTokenizer, stop: tuple[str, ...]) -> None:
        self.tokenizer = tokenizer
        self.stop = stop
        self.stopped = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """Everything released so far."""
        return "".join(self._parts)

    def push(self, token_id: int) -> str:
        """Adds a token and returns the text it releases; sets `stopped` when a stop string is complete."""
        return self._release(self._held + self._decoder.decode(self.tokenizer.spelling(token_id)))

    def finish(self) -> str:
        """Releases what is held back once no more tokens come; unfinished bytes become U+FFFD."""
        if self.stopped:
            return ""
        released = self._release(self._held + self._decoder.decode(b"", final=True))
        if not self.stopped and self._held:
            self._parts.append(self._held)
            released += self._held
            self._held = ""
        return released

    def _release(self, pending: str) -> str:
        cut = min((at for s in self.stop if (at := pending.find(s)) >= 0), default=-1)
        if cut >= 0:
            self.stopped = True
            self._held = ""
            released = pending[:cut]
        else:
            keep = max((_overlap(pending, s) for s in self.stop), default=0)
            released = pending[: len(pending) - keep]
            self._held = pending[len(pending) - keep :]
        if released:
            self._parts.append(released)
        return released


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of `text` that is a true beginning of `stop`."""
    for size in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:size]):
            return size
    return 0
