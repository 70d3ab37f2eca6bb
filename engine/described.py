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
CONTEXT_WORDS = 24  # of the question, its end, that an answer is read after


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
    context_vectors: Vectors
    parts: tuple[Clause, ...]
    part_vectors: Vectors


def describe(texts: Sequence[str], context: str, embedder: Embedder) -> list[Described]:
    """Describe texts that answer the same question (`context`); two forward passes for all of them."""
    plain = [normalise(text).text for text in texts]
    asked = " ".join(normalise(context).text.split()[-CONTEXT_WORDS:])
    sentence, tokens = embedder.encode_both(plain)
    prefix = asked + " "
    within = embedder.encode_tokens([prefix + text for text in plain])
    parts = [clauses(text) for text in plain]
    part_vectors = _part_vectors(plain, parts, sentence, embedder)
    return [
        _described(
            text,
            tokens[i],
            sentence[i],
            _shifted(within[i], len(prefix)),
            parts[i],
            part_vectors[i],
            embedder,
        )
        for i, text in enumerate(plain)
    ]


def _part_vectors(
    plain: Sequence[str], parts: Sequence[Sequence[Clause]], sentence: Vectors, embedder: Embedder
) -> list[Vectors]:
    """One vector a clause; a text of one clause is its own clause."""
    flat = [
        text[part.start : part.end]
        for text, own in zip(plain, parts, strict=True)
        for part in own
        if len(own) > 1
    ]
    encoded = embedder.encode(flat)
    out, at = [], 0
    for i, own in enumerate(parts):
        taken = len(own) if len(own) > 1 else 0
        out.append(encoded[at : at + taken] if taken else sentence[i : i + 1])
        at += taken
    return out


def _described(
    text: str,
    tokens: TokenVectors,
    sentence: Vectors,
    within: TokenVectors,
    parts: tuple[Clause, ...],
    part_vectors: Vectors,
    embedder: Embedder,
) -> Described:
    whole = whole_clause(text)
    indexes = whole.content
    words = tuple(whole.words[i] for i in indexes)
    weights = np.array([rarity(word.text, embedder) for word in words], dtype=np.float32)
    return Described(
        text,
        whole,
        words,
        indexes,
        _word_vectors(words, tokens),
        weights,
        sentence,
        _mean(within.vectors, sentence),
        _word_vectors(words, within),
        parts,
        part_vectors,
    )


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


def _word_vectors(words: Sequence[Word], tokens: TokenVectors) -> Vectors:
    """Unit vectors [words, 384]: the mean of each word's tokens."""
    out = np.zeros((len(words), 384), dtype=np.float32)
    for i, word in enumerate(words):
        rows = [k for k, (start, end) in enumerate(tokens.spans) if start < word.end and end > word.start]
        if rows:
            out[i] = _mean(tokens.vectors[rows], out[i])
    return out


def _mean(vectors: Vectors, fallback: Vectors) -> Vectors:
    if not len(vectors):
        return fallback
    mean = vectors.mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32)


def _shifted(tokens: TokenVectors, start: int) -> TokenVectors:
    """The tokens from a character on, with spans counted from there."""
    rows = [i for i, (begin, _) in enumerate(tokens.spans) if begin >= start]
    spans = tuple((tokens.spans[i][0] - start, tokens.spans[i][1] - start) for i in rows)
    return TokenVectors(spans, tokens.vectors[rows])
