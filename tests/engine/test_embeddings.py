"""The embedding model in half precision finds what the whole one finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.embeddings import Embedder, Vectors
from engine.remembered import Memory

TEXTS = [
    "The old bridge was designed by Ann Lee. It opened in 1932 after six years of work.",
    "Bread needs flour and yeast.",
    "The river is 40 km long and freezes in winter.",
    "",
    "\u706f\u53f0",
]


def test_half_precision_changes_next_to_nothing(embedder: Embedder) -> None:
    whole, half = embedder.encode(TEXTS), embedder.halved().encode(TEXTS)
    assert half.dtype == np.float32
    assert float((whole * half).sum(1).min()) > 0.999
    asked = embedder.encode(["When did the bridge open?"])[0]
    assert np.argsort(-(half @ asked)).tolist()[0] == 0
    assert np.abs(whole @ asked - half @ asked).max() < 0.01


def test_a_text_is_encoded_once_and_remembered(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    whole = embedder._sentences

    def counted(texts: Sequence[str]) -> Vectors:
        asked.append(list(texts))
        return whole(texts)

    monkeypatch.setattr(embedder, "_sentences", counted)
    first = embedder.encode(["A lamp told of once.", "A lamp told of once.", "A wire told of once."])
    again = embedder.encode(["A wire told of once.", "A lamp told of once."])
    assert asked == [["A lamp told of once.", "A wire told of once."]]
    assert np.array_equal(first[[2, 0]], again)
    assert embedder.encode([]).shape == (0, 384)


def test_a_full_memory_drops_what_was_unused_for_longest() -> None:
    memory, vector = Memory(2), np.zeros(3, np.float32)
    memory.keep({"one": vector, "two": vector})
    assert set(memory.held(["one"])) == {"one"}
    memory.keep({"three": vector})
    assert set(memory.held(["one", "two", "three"])) == {"one", "three"}
