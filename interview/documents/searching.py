"""Search in the worker: BM25 and similarity of meaning, fused by rank, over what the asker may read and nothing else.

An index in memory belongs to an exact set of (document, version) pairs, read from the database for this asker at this
moment. So a deleted, rebuilt or no longer shared document has no index that could still answer for it.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db.models import F

from interview.accounts.models import User
from interview.documents import selectors
from interview.documents.indexing import embedded_text
from interview.documents.models import Document, Passage
from interview.documents.terms import terms
from interview.runs.chain import canonical_hash

if TYPE_CHECKING:
    from engine.embeddings import Embedder

RANK_OFFSET = 60  # of reciprocal rank fusion: 1 / (60 + rank), summed (Cormack, Clarke and Büttcher 2009)
DEPTH = 50  # ranks of each list that count
MOST_PASSAGES = 100_000  # held in memory by one worker, over all its indexes
WIDTH = 384

Version = tuple[str, int]  # document, version


@dataclass(frozen=True)
class Hit:
    """A passage and why it is here: its terms with their BM25 share, its similarity, its rank in each list."""

    passage: int
    document: str
    name: str
    page: int
    page_label: str
    heading: str
    text: str
    start: int
    end: int
    score: float
    bm25: float
    bm25_rank: int
    similarity: float
    similarity_rank: int
    terms: list[tuple[str, float]]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True)
class Found:
    """The hits of a search and what it searched."""

    hits: list[Hit]
    n_documents: int
    n_passages: int
    timings: dict[str, float]
    index: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Postings:
    """The passages that have a term, each once, and its BM25 in each."""

    rows: np.ndarray[Any, Any]
    scores: np.ndarray[Any, Any]

    def at(self, row: int) -> float:
        """The term's BM25 in one passage, 0 where it doesn't occur."""
        return float(self.scores[self.rows == row].sum())


class Index:
    """BM25 and vectors of a fixed set of passages: (key, heading, text, vector as float16)."""

    def __init__(self, rows: list[tuple[int, str, str, bytes]]) -> None:
        import bm25s

        self.keys = np.array([row[0] for row in rows], dtype=np.int64)
        flat = b"".join(row[3] for row in rows)
        self.vectors = np.frombuffer(flat, dtype=np.float16).reshape(len(rows), WIDTH).astype(np.float32)
        self.bm25 = None
        corpus = [terms(embedded_text(row[1], row[2])) for row in rows]
        self.known: set[str] = {term for words in corpus for term in words}
        if self.known:
            self.bm25 = bm25s.BM25()
            self.bm25.index(corpus, show_progress=False)

    def __len__(self) -> int:
        return len(self.keys)

    def postings(self, wanted: list[str]) -> dict[str, Postings]:
        """For each term of the question that occurs anywhere: the passages that have it and its BM25 there.

        Read from bm25s's columns: its own scoring adds element by element and makes a dense array for every term.
        """
        if self.bm25 is None:
            return {}
        kept = self.bm25.scores
        found = {}
        for term in dict.fromkeys(wanted):
            if term in self.known:
                column = self.bm25.get_tokens_ids([term])[0]
                part = slice(kept["indptr"][column], kept["indptr"][column + 1])
                found[term] = Postings(kept["indices"][part], kept["data"][part])
        return found


def _rows(versions: frozenset[Version]) -> list[tuple[int, str, str, bytes]]:
    documents = [uuid.UUID(document) for document, _ in versions]
    rows = (
        Passage.objects.filter(document__in=documents)
        .order_by("pk")
        .values_list("pk", "heading", "text", "vector", "document", "version")
    )
    return [
        (key, heading, text, bytes(vector))
        for key, heading, text, vector, document, version in rows.iterator(chunk_size=2000)
        if (str(document), version) in versions
    ]


class Indexes:
    """The indexes last used by this worker process; the oldest go when there is too much in them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[frozenset[Version], Index] = OrderedDict()

    def get(self, versions: frozenset[Version]) -> tuple[Index, bool]:
        """The index of exactly these versions, and whether it had to be built."""
        with self._lock:
            if versions in self._kept:
                self._kept.move_to_end(versions)
                return self._kept[versions], False
            index = Index(_rows(versions))
            self._kept[versions] = index
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > MOST_PASSAGES:
                self._kept.popitem(last=False)
            return index, True

    def forget(self) -> None:
        """Drop all of them."""
        with self._lock:
            self._kept.clear()


INDEXES = Indexes()


def scope(user: User, selection: dict[str, Any]) -> dict[str, Document]:
    """The documents a question is put to: those selected that the user may read now, by id.

    `selection` may name a `collection` or `documents`; neither means everything the user may read.
    """
    documents = selectors.searchable_documents(user)
    if selection.get("collection"):
        collection = selectors.collection_get(uuid.UUID(selection["collection"]), user)
        documents = documents.filter(collections=collection) if collection else documents.none()
    if selection.get("documents"):
        documents = documents.filter(pk__in=[uuid.UUID(name) for name in selection["documents"]])
    return {str(document.pk): document for document in documents}


def search(user: User, question: str, selection: dict[str, Any], embedder: Embedder, most: int) -> Found:
    """The passages nearest to a question among what the user may read."""
    started = time.perf_counter()
    documents = scope(user, selection)
    versions = frozenset((name, document.version) for name, document in documents.items())
    index, built = INDEXES.get(versions) if versions else (None, False)
    indexed = time.perf_counter()
    made_of = index_of(documents)
    if index is None or not len(index):
        timings = {"index_ms": _ms(started, indexed), "built": float(built)}
        return Found([], len(documents), 0, timings, made_of)
    vector = embedder.encode([question])[0]
    embedded = time.perf_counter()
    ranked = rank(index, terms(question), vector, most)
    searched = time.perf_counter()
    hits = _hits(ranked, documents)
    return Found(
        hits,
        len(documents),
        len(index),
        {
            "index_ms": _ms(started, indexed),
            "built": float(built),
            "embed_ms": _ms(indexed, embedded),
            "search_ms": _ms(embedded, searched),
            "fetch_ms": _ms(searched, time.perf_counter()),
        },
        made_of,
    )


def index_of(documents: dict[str, Document]) -> dict[str, Any]:
    """Which index was searched: how it was made, and a hash over the version of each document in it."""
    versions = sorted([name, document.version] for name, document in documents.items())
    return {
        "made_by": sorted({document.index_version for document in documents.values()}),
        "version": canonical_hash(versions)[:12],
        "documents": len(versions),
    }


def _ms(start: float, end: float) -> float:
    return round((end - start) * 1000, 2)


@dataclass(frozen=True)
class Ranked:
    """One passage's place in both lists."""

    key: int
    score: float
    bm25: float
    bm25_rank: int
    similarity: float
    similarity_rank: int
    terms: list[tuple[str, float]]


def rank(index: Index, wanted: list[str], vector: np.ndarray[Any, Any], most: int) -> list[Ranked]:
    """The best passages by the sum of reciprocal ranks in the two lists."""
    by_term = index.postings(wanted)
    bm25 = np.zeros(len(index), np.float32)
    for postings in by_term.values():
        bm25[postings.rows] += postings.scores
    similarity = index.vectors @ vector
    bm25_ranks, similarity_ranks = _ranks(bm25, positive=True), _ranks(similarity)
    fused: dict[int, float] = {}
    for ranks in (bm25_ranks, similarity_ranks):
        for row, place in ranks.items():
            fused[row] = fused.get(row, 0.0) + 1 / (RANK_OFFSET + place)
    best = sorted(fused, key=lambda row: (-fused[row], -float(similarity[row]), row))[:most]
    return [
        Ranked(
            key=int(index.keys[row]),
            score=round(fused[row], 5),
            bm25=round(float(bm25[row]), 3),
            bm25_rank=bm25_ranks.get(row, 0),
            similarity=round(float(similarity[row]), 4),
            similarity_rank=similarity_ranks.get(row, 0),
            terms=[(term, round(part, 3)) for term, p in by_term.items() if (part := p.at(row)) > 0],
        )
        for row in best
    ]


def _ranks(scores: np.ndarray[Any, Any], positive: bool = False) -> dict[int, int]:
    """Row → place of the best rows, from 1."""
    depth = min(DEPTH, len(scores))
    best = np.argpartition(-scores, depth - 1)[:depth]
    best = best[np.lexsort((best, -scores[best]))]
    return {int(row): place for place, row in enumerate(best, 1) if not positive or scores[row] > 0}


def _hits(ranked: list[Ranked], documents: dict[str, Document]) -> list[Hit]:
    """The texts, read again from the database: what was deleted in between is not in the answer."""
    rows = {
        passage.pk: passage
        for passage in Passage.objects.filter(
            pk__in=[found.key for found in ranked],
            document__in=list(documents),
            version=F("document__version"),
        )
    }
    kept = [(found, rows[found.key]) for found in ranked if found.key in rows]
    labels = selectors.page_labels([(passage.document_id, passage.page) for _, passage in kept])
    return [
        Hit(
            passage=passage.pk,
            document=str(passage.document_id),
            name=documents[str(passage.document_id)].name,
            page=passage.page,
            page_label=labels.get((passage.document_id, passage.page), ""),
            heading=passage.heading,
            text=passage.text,
            start=passage.start,
            end=passage.end,
            **{name: value for name, value in asdict(found).items() if name != "key"},
        )
        for found, passage in kept
    ]
