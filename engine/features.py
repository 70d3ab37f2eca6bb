"""What an answer and a reference have in common, as numbers for the calibrated model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from engine.alignment import Known, Pair, align, in_order, turns
from engine.context_features import NAMES as CONTEXT_NAMES
from engine.context_features import context_features
from engine.described import Described
from engine.embeddings import Vectors
from engine.lexicon import NEGATORS, opposites, synonyms
from engine.stems import near

NAMES = (
    "cosine", "cosine_in_context", "recall_soft", "precision_soft", "f_soft", "recall_stem", "precision_stem",
    "recall_lexical", "recall_new", "precision_new", "recall_new_soft", "precision_new_soft", "weakest_word",
    "weakest_three", "hardest_missing", "turned", "opposite_pairs", "opposite_near", "negation_gap", "negation_odd",
    "negators_answer", "negators_reference", "negated_mismatch", "numbers_recall", "numbers_extra", "order", "bigrams",
    "trigram_chars", "length_answer", "length_reference", "length_ratio", "echo", "new_words", "cosine_question",
    "cosine_reference_question", "best_part", "mean_part", "worst_part", "yes_no", "hedged", "is_question", "exact_new",
    "cosine_gain", "recall_old_soft", "unmatched_new", "recall_plain", "precision_plain", "recall_plain_soft",
    "recall_all", "recall_in_context", "precision_in_context", "recall_new_in_context", "best_clause", "mean_clause",
    "clause_covers", "reference_clauses", "answer_clauses", "substituted", *CONTEXT_NAMES,
)  # fmt: skip
FLOOR = 0.3  # contextual similarity that unrelated words reach


def compare(answer: Described, reference: Described, question: Described, known: Known) -> Vectors:
    """Features of one answer against one reference, in the order of NAMES."""
    asked = {word.stem for word in question.words}
    similar = similarities(answer, reference, known)
    pairs = align(answer.whole, reference.whole, known)
    values = {
        **_overlap(answer, reference, asked, similar),
        **_polarity(answer, reference, pairs),
        **_surface(answer, reference, pairs),
        **_context(answer, reference, question, asked),
        **_parts(answer, reference, similar),
        **_plain(answer, reference, asked, similar),
        **_clauses(answer, reference),
        **context_features(answer, reference, question, similar, pairs),
    }
    return np.array([values[name] for name in NAMES], dtype=np.float32)


def similarities(answer: Described, reference: Described, known: Known) -> Vectors:
    """[reference words, answer words] in 0..1: contextual similarity, raised where the lexicon knows better."""
    similar = np.clip((reference.vectors @ answer.vectors.T - FLOOR) / (1 - FLOOR), 0, 1)
    ours = [(a.text, a.stem) for a in answer.words]
    for i, r in enumerate(reference.words):
        for j, (text, root) in enumerate(ours):
            bounds = _bounds(r.text, r.stem, text, root, known)
            if bounds is not None:
                similar[i, j] = min(max(similar[i, j], bounds[0]), bounds[1])
    return np.asarray(similar, dtype=np.float32)


@lru_cache(maxsize=262144)
def _bounds(r: str, r_stem: str, a: str, a_stem: str, known: Known) -> tuple[float, float] | None:
    """The least and the most similarity that the lexicon allows two words, or None where it knows nothing."""
    if r_stem == a_stem:
        return 1.0, 1.0
    if opposites(r_stem, a_stem):
        return 0.0, 0.2
    if synonyms(r_stem, a_stem):
        return 0.75, 1.0
    return (0.95, 1.0) if near(r, a) and not known(a) else None


def _weighted(values: Vectors, weights: Vectors) -> float:
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total else 0.0


def _overlap(answer: Described, reference: Described, asked: set[str], similar: Vectors) -> dict[str, float]:
    got = similar.max(axis=1) if similar.size else np.zeros(len(reference.words), np.float32)
    used = similar.max(axis=0) if similar.size else np.zeros(len(answer.words), np.float32)
    new_r = np.array([word.stem not in asked for word in reference.words], dtype=bool)
    new_a = np.array([word.stem not in asked for word in answer.words], dtype=bool)
    stems_a, stems_r = {w.stem for w in answer.words}, {w.stem for w in reference.words}
    exact = np.array([word.stem in stems_a for word in reference.words], dtype=np.float32)
    exact_a = np.array([word.stem in stems_r for word in answer.words], dtype=np.float32)
    recall, precision = _weighted(got, reference.weights), _weighted(used, answer.weights)
    missing = (1 - got) * reference.weights
    lowest = np.sort(got)[:3]
    return {
        "recall_soft": recall,
        "precision_soft": precision,
        "f_soft": 2 * recall * precision / (recall + precision) if recall + precision else 0.0,
        "recall_stem": _weighted(exact, reference.weights),
        "precision_stem": _weighted(exact_a, answer.weights),
        "recall_lexical": _weighted((got >= 0.74).astype(np.float32), reference.weights),
        "recall_new": _weighted(exact[new_r], reference.weights[new_r]) if new_r.any() else -1.0,
        "precision_new": _weighted(exact_a[new_a], answer.weights[new_a]) if new_a.any() else -1.0,
        "recall_new_soft": _weighted(got[new_r], reference.weights[new_r]) if new_r.any() else -1.0,
        "precision_new_soft": _weighted(used[new_a], answer.weights[new_a]) if new_a.any() else -1.0,
        "recall_old_soft": _weighted(got[~new_r], reference.weights[~new_r]) if (~new_r).any() else -1.0,
        "exact_new": float(exact[new_r].sum()),
        "unmatched_new": float((1 - used[new_a]).sum()),
        "weakest_word": float(got.min()) if got.size else 0.0,
        "weakest_three": float(lowest.mean()) if lowest.size else 0.0,
        "hardest_missing": float(missing.max()) if missing.size else 1.0,
    }


def _polarity(answer: Described, reference: Described, pairs: Sequence[Pair]) -> dict[str, float]:
    against = sum(pair.opposite for pair in pairs)
    stems_r = {word.stem for word in reference.words}
    loose = sum(
        any(opposites(word.stem, other) for other in stems_r)
        for word in answer.words
        if word.stem not in stems_r
    )
    count_a = sum(word.text in NEGATORS for word in answer.whole.words)
    count_r = sum(word.text in NEGATORS for word in reference.whole.words)
    return {
        "turned": float(turns(answer.whole, reference.whole, pairs).total() % 2),
        "opposite_pairs": float(against),
        "opposite_near": float(loose),
        "negation_gap": float(min(3, abs(count_a - count_r))),
        "negation_odd": float((count_a - count_r) % 2),
        "negators_answer": float(min(3, count_a)),
        "negators_reference": float(min(3, count_r)),
        "negated_mismatch": float(_negated_mismatch(answer, reference, pairs)),
    }


def _negated_mismatch(answer: Described, reference: Described, pairs: Sequence[Pair]) -> int:
    def reached(clause_of: Described) -> set[int]:
        return {i for scope in clause_of.whole.scopes for i in range(scope.start, scope.end)}

    in_a, in_r = reached(answer), reached(reference)
    return min(4, sum((pair.a in in_a) != (pair.s in in_r) for pair in pairs))


def _surface(answer: Described, reference: Described, pairs: Sequence[Pair]) -> dict[str, float]:
    digits_a = {w.text for w in answer.words if w.text[0].isdigit()}
    digits_r = {w.text for w in reference.words if w.text[0].isdigit()}
    stems_a, stems_r = [w.stem for w in answer.words], [w.stem for w in reference.words]
    big_a, big_r = set(itertools.pairwise(stems_a)), set(itertools.pairwise(stems_r))
    chars_a, chars_r = _trigrams(answer.text), _trigrams(reference.text)
    shared = len(chars_a & chars_r)
    n_a, n_r = len(answer.whole.words), len(reference.whole.words)
    return {
        "numbers_recall": len(digits_a & digits_r) / len(digits_r) if digits_r else -1.0,
        "numbers_extra": float(min(3, len(digits_a - digits_r))),
        "order": in_order(pairs),
        "bigrams": len(big_a & big_r) / len(big_r) if big_r else 0.0,
        "trigram_chars": 2 * shared / (len(chars_a) + len(chars_r)) if chars_a or chars_r else 0.0,
        "length_answer": float(np.log1p(n_a)),
        "length_reference": float(np.log1p(n_r)),
        "length_ratio": float(np.log((1 + n_a) / (1 + n_r))),
        "yes_no": _yes_no(answer, reference),
        "hedged": float(answer.whole.hedged),
        "is_question": float(answer.whole.question),
    }


def _trigrams(text: str) -> set[str]:
    low = f" {' '.join(text.lower().split())} "
    return {low[i : i + 3] for i in range(len(low) - 2)}


def _yes_no(answer: Described, reference: Described) -> float:
    first_a = answer.whole.words[0].text if answer.whole.words else ""
    first_r = reference.whole.words[0].text if reference.whole.words else ""
    if first_r not in ("yes", "no"):
        return 0.0
    return 1.0 if first_a == first_r else -1.0 if first_a in ("yes", "no") else -0.2


def _context(
    answer: Described, reference: Described, question: Described, asked: set[str]
) -> dict[str, float]:
    echo = sum(word.stem in asked for word in answer.words) / len(answer.words) if answer.words else 1.0
    cosine = float(answer.sentence @ reference.sentence)
    with_question = float(answer.sentence @ question.sentence)
    return {
        "cosine": cosine,
        "cosine_in_context": float(answer.in_context @ reference.in_context),
        "cosine_question": with_question,
        "cosine_reference_question": float(reference.sentence @ question.sentence),
        "cosine_gain": cosine - with_question,
        "echo": echo,
        "new_words": float(np.log1p(sum(word.stem not in asked for word in answer.words))),
    }


def _parts(answer: Described, reference: Described, similar: Vectors) -> dict[str, float]:
    """Recall of each clause of the reference, by the words of the whole answer."""
    got = similar.max(axis=1) if similar.size else np.zeros(len(reference.words), np.float32)
    recalls = []
    for part in reference.parts:
        rows = [i for i, word in enumerate(reference.words) if part.start <= word.start < part.end]
        if rows:
            recalls.append(_weighted(got[rows], reference.weights[rows]))
    recalls = recalls or [0.0]
    return {
        "best_part": max(recalls),
        "mean_part": sum(recalls) / len(recalls),
        "worst_part": min(recalls),
    }


def _plain(answer: Described, reference: Described, asked: set[str], similar: Vectors) -> dict[str, float]:
    """Overlap without word weights, and overlap of words read in the context of the question."""
    stems_a, stems_r = {w.stem for w in answer.words}, {w.stem for w in reference.words}
    all_a, all_r = {w.stem for w in answer.whole.words}, {w.stem for w in reference.whole.words}
    within = np.clip((reference.context_vectors @ answer.context_vectors.T - FLOOR) / (1 - FLOOR), 0, 1)
    got = within.max(axis=1) if within.size else np.zeros(len(reference.words), np.float32)
    used = within.max(axis=0) if within.size else np.zeros(len(answer.words), np.float32)
    new = np.array([word.stem not in asked for word in reference.words], dtype=bool)
    soft = similar.max(axis=1) if similar.size else np.zeros(len(reference.words), np.float32)
    near_miss = ((soft > 0.3) & (soft < 0.72)).sum() / len(soft) if len(soft) else 0.0
    return {
        "recall_plain": len(stems_a & stems_r) / len(stems_r) if stems_r else 0.0,
        "precision_plain": len(stems_a & stems_r) / len(stems_a) if stems_a else 0.0,
        "recall_plain_soft": float(soft.mean()) if len(soft) else 0.0,
        "recall_all": len(all_a & all_r) / len(all_r) if all_r else 0.0,
        "recall_in_context": _weighted(got, reference.weights),
        "precision_in_context": _weighted(used, answer.weights),
        "recall_new_in_context": float(got[new].mean()) if new.any() else -1.0,
        "substituted": float(near_miss),
    }


def _clauses(answer: Described, reference: Described) -> dict[str, float]:
    """How near the clauses of the answer come to those of the reference."""
    table = reference.part_vectors @ answer.part_vectors.T
    best = table.max(axis=1) if table.size else np.zeros(1, np.float32)
    return {
        "best_clause": float(best.max()),
        "mean_clause": float(best.mean()),
        "clause_covers": float(best.min()),
        "reference_clauses": float(len(reference.part_vectors)),
        "answer_clauses": float(len(answer.part_vectors)),
    }
