"""Features from words read in the context of the question: what is covered, what is missing, what is left over."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from engine.alignment import Pair
from engine.clauses import Clause
from engine.described import Described
from engine.embeddings import Vectors
from engine.roles import exchanged

NAMES = (
    "weakest_in_context", "hardest_in_context", "precision_new_in_context", "recall_mixed", "recall_new_mixed",
    "weakest_mixed", "precision_mixed", "f_mixed", "residual", "residual_in_context", "new_words_cosine", "missing_new",
    "exchanged", "word_bigrams", "sentence_gap", "best_clause_question", "left_over",
)  # fmt: skip
FLOOR = 0.3


def context_features(
    answer: Described,
    reference: Described,
    question: Described,
    similar: Vectors,
    pairs: Sequence[Pair],
) -> dict[str, float]:
    """Values for NAMES; `similar` is [reference words, answer words] as the lexicon and the encoder see it."""
    asked = {word.stem for word in question.words}
    new_r = np.array([word.stem not in asked for word in reference.words], dtype=bool)
    new_a = np.array([word.stem not in asked for word in answer.words], dtype=bool)
    within = np.clip((reference.context_vectors @ answer.context_vectors.T - FLOOR) / (1 - FLOOR), 0, 1)
    mixed = np.maximum(within, similar)
    got, got_mixed = _best(within, 1, len(reference.words)), _best(mixed, 1, len(reference.words))
    used, used_mixed = _best(within, 0, len(answer.words)), _best(mixed, 0, len(answer.words))
    recall, precision = _mean(got_mixed, reference.weights), _mean(used_mixed, answer.weights)
    return {
        "weakest_in_context": _lowest(got),
        "hardest_in_context": float(((1 - got) * reference.weights).max()) if len(got) else 1.0,
        "precision_new_in_context": _mean(used[new_a], answer.weights[new_a]),
        "recall_mixed": recall,
        "recall_new_mixed": _mean(got_mixed[new_r], reference.weights[new_r]),
        "weakest_mixed": _lowest(got_mixed[new_r]) if new_r.any() else _lowest(got_mixed),
        "precision_mixed": precision,
        "f_mixed": 2 * recall * precision / (recall + precision) if recall + precision > 0 else 0.0,
        "residual": _residual(answer.sentence, reference.sentence, question.sentence),
        "residual_in_context": _residual(answer.in_context, reference.in_context, question.sentence),
        "new_words_cosine": _centres(
            answer.context_vectors[new_a],
            answer.weights[new_a],
            reference.context_vectors[new_r],
            reference.weights[new_r],
        ),
        "missing_new": float(((1 - got_mixed[new_r]) * reference.weights[new_r]).sum()),
        "left_over": float(((1 - used_mixed[new_a]) * answer.weights[new_a]).sum()),
        "exchanged": float(exchanged(answer.whole, reference.whole, pairs)),
        "word_bigrams": shared_bigrams(answer.whole, reference.whole),
        "sentence_gap": float(np.abs(answer.sentence - reference.sentence).max()),
        "best_clause_question": float((answer.part_vectors @ question.sentence).max()),
    }


def shared_bigrams(answer: Clause, reference: Clause) -> float:
    """Share of the reference's neighbouring words that stand beside each other in the answer too."""
    ours = set(itertools.pairwise(word.stem for word in answer.words))
    theirs = set(itertools.pairwise(word.stem for word in reference.words))
    return len(ours & theirs) / len(theirs) if theirs else 0.0


def _best(table: Vectors, axis: int, length: int) -> Vectors:
    return np.asarray(table.max(axis=axis) if table.size else np.zeros(length), dtype=np.float32)


def _mean(values: Vectors, weights: Vectors) -> float:
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total > 0 else -1.0


def _lowest(values: Vectors) -> float:
    return float(np.sort(values)[:3].mean()) if len(values) else 0.0


def _residual(one: Vectors, other: Vectors, question: Vectors) -> float:
    """Cosine of two texts without what both share with the question."""
    a, b = one - (one @ question) * question, other - (other @ question) * question
    return float(a @ b / max(1e-6, float(np.linalg.norm(a) * np.linalg.norm(b))))


def _centres(one: Vectors, w_one: Vectors, other: Vectors, w_other: Vectors) -> float:
    if not len(one) or not len(other):
        return -1.0
    a, b = w_one @ one, w_other @ other
    return float(a @ b / max(1e-6, float(np.linalg.norm(a) * np.linalg.norm(b))))
