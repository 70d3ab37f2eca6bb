"""The embedding model in half precision finds what the whole one finds."""

from __future__ import annotations

import numpy as np

from engine.embeddings import Embedder

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
