"""Is a passage about the question at all? Similarity of sentences, and which of the question's words occur."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from engine.answers import Considered
from engine.clauses import content_word
from engine.embeddings import Embedder
from engine.normalise import normalise
from engine.sentences import sentence_spans
from engine.stems import stem
from engine.types import Passage
from engine.words import words

ASKING = frozenset(
    [
        "what",
        "which",
        "who",
        "whom",
        "whose",
        "when",
        "where",
        "why",
        "how",
        "many",
        "much",
        "name",
        "does",
        "did",
        "was",
        "were",
    ]
)
MAX_SENTENCES = 48


def terms(text: str) -> dict[str, str]:
    """Stem -> word of the words that carry meaning."""
    return {stem(w): w for w in words(normalise(text).text) if content_word(w) and w not in ASKING}


@lru_cache(maxsize=512)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in words(normalise(text).text))


def weight(word: str, commonness: Callable[[str], int]) -> float:
    """How much a word tells: the log of its rank in a list that runs from common to rare."""
    return math.log(2 + commonness(word))


def consider(question: str, passages: Sequence[Passage], embedder: Embedder) -> list[Considered]:
    """Every passage with its similarity, the share of the question's words it has, and both together."""
    wanted = terms(question)
    weights = {s: weight(w, embedder.commonness) for s, w in wanted.items()}
    best = _similarities(question, passages, embedder)
    found = []
    for passage, similarity in zip(passages, best, strict=True):
        here = [s for s in wanted if s in _stems(passage.text)]
        share = sum(weights[s] for s in here) / sum(weights.values()) if weights else 0.0
        found.append(
            Considered(
                passage.id, similarity, share, (similarity + share) / 2, tuple(wanted[s] for s in here)
            )
        )
    return found


def _similarities(question: str, passages: Sequence[Passage], embedder: Embedder) -> list[float]:
    """The cosine of each passage's best sentence with the question."""
    texts, owners = [question], []
    for index, passage in enumerate(passages):
        spans = sentence_spans(passage.text)[:MAX_SENTENCES]
        texts += [passage.text[start:end] for start, end in spans]
        owners += [index] * len(spans)
    vectors = embedder.encode(texts)
    scores = vectors[1:] @ vectors[0]
    best = np.zeros(len(passages))
    for owner, score in zip(owners, scores, strict=True):
        best[owner] = max(best[owner], score)
    return [float(b) for b in best]
