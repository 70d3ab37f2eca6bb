"""A text described for comparison: its words with vectors and weights, its sentences, its sentence vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.clauses import Clause, Word, clauses, sentences
from engine.embeddings import Embedder, TokenVectors, Vectors
from engine.normalise import normalise
from engine.units import joined

LEAST_WEIGHT = 0.2


@dataclass(frozen=True, slots=True)
class Described:
    """A text ready for comparison; rows of `vectors` and `weights` belong to the content words `words`."""

    text: str
    whole: Clause
    words: tuple[Word, ...]
    indexes: tuple[int, ...]
    vectors: Vectors
    weights: Vectors
    sentence: Vectors
    in_context: Vectors
    parts: tuple[Clause, ...]


def describe(texts: Sequence[str], context: str, embedder: Embedder) -> list[Described]:
    """Describe texts that answer the same question (`context`); two forward passes for all of them."""
    plain = [normalise(text).text for text in texts]
    asked = normalise(context).text
    tokens = embedder.encode_tokens(plain)
    sentence = embedder.encode(plain)
    prefix = asked + " "
    within = embedder.encode_tokens([prefix + text for text in plain])
    out = []
    for i, text in enumerate(plain):
        pooled = _pooled(within[i], len(prefix), sentence[i])
        out.append(_described(text, tokens[i], sentence[i], pooled, embedder))
    return out


def _described(
    text: str, tokens: TokenVectors, sentence: Vectors, in_context: Vectors, embedder: Embedder
) -> Described:
    whole = whole_clause(text)
    indexes = whole.content
    words = tuple(whole.words[i] for i in indexes)
    vectors = np.stack([_word_vector(word, tokens) for word in words]) if words else np.zeros((0, 384), np.float32)
    weights = np.array([rarity(word.text, embedder) for word in words], dtype=np.float32)
    return Described(text, whole, words, indexes, vectors, weights, sentence, in_context, clauses(text))


def whole_clause(text: str) -> Clause:
    """All sentences of a normalised text as one clause."""
    parts = sentences(text)
    if not parts:
        return Clause((), (), 0, False, False, False)
    clause = parts[0]
    for following in parts[1:]:
        clause = joined(clause, following)
    return clause


def rarity(word: str, embedder: Embedder) -> float:
    """Weight of a word by its rank in the model's word list, about 0.2 (common) to 1 (rare)."""
    rank = max(1, embedder.commonness(word) - 1000)
    return max(LEAST_WEIGHT, math.log(1 + rank / 300) / math.log(1 + 29000 / 300))


def _word_vector(word: Word, tokens: TokenVectors) -> Vectors:
    rows = [i for i, (start, end) in enumerate(tokens.spans) if start < word.end and end > word.start]
    if not rows:
        return np.zeros(384, dtype=np.float32)
    mean = tokens.vectors[rows].mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32)


def _pooled(tokens: TokenVectors, start: int, fallback: Vectors) -> Vectors:
    rows = [i for i, (begin, _) in enumerate(tokens.spans) if begin >= start]
    if not rows:
        return fallback
    mean = tokens.vectors[rows].mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32)
