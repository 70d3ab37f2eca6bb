"""Passages ranked for a question: BM25 and sentence vectors, fused by rank.

BM25 with k1 = 1.2, b = 0.75 (Robertson and Zaragoza 2009); reciprocal rank fusion with k = 60 (Cormack et al. 2009).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine.clauses import content_word
from engine.embeddings import Embedder
from engine.normalise import normalise
from engine.stems import stem
from engine.words import words

K1, B, FUSE = 1.2, 0.75, 60
Scores = npt.NDArray[np.float64]


class Ranking:
    """A fixed set of passages, ready to be asked."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self.embedder = embedder
        self.vectors = embedder.encode(texts)
        self.counts = [Counter(_stems(text)) for text in texts]
        self.lengths = np.array([max(1, c.total()) for c in self.counts], dtype=float)
        self.found_in = Counter(s for c in self.counts for s in c)

    def order(self, question: str) -> list[int]:
        """Indexes of the passages, the best first."""
        lexical, dense = self._bm25(question), self.vectors @ self.embedder.encode([question])[0]
        fused = 1 / (FUSE + _ranks(lexical)) + 1 / (FUSE + _ranks(dense))
        return [int(i) for i in np.argsort(-fused, kind="stable")]

    def _bm25(self, question: str) -> Scores:
        scores = np.zeros(len(self.counts))
        norm = K1 * (1 - B + B * self.lengths / self.lengths.mean())
        for term in set(_stems(question)):
            n = self.found_in[term]
            rarity = math.log(1 + (len(self.counts) - n + 0.5) / (n + 0.5))
            frequency = np.array([c[term] for c in self.counts], dtype=float)
            scores += rarity * frequency * (K1 + 1) / (frequency + norm)
        return scores


def _stems(text: str) -> list[str]:
    return [stem(w) for w in words(normalise(text).text) if content_word(w)]


def _ranks(scores: npt.NDArray[np.floating]) -> Scores:
    """1 for the best; equals share a rank, so that passages without any of the words gain nothing by their place."""
    ordered = np.sort(scores)
    return np.asarray(1 + len(scores) - np.searchsorted(ordered, scores, side="right"), dtype=float)
