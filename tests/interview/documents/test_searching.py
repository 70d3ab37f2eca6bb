"""Search: both lists, their fusion and explanation; and that nobody ever finds what they may not read."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.db.models import Q
from django.test import Client

from engine.embeddings import Embedder
from interview.accounts.models import User
from interview.documents import services, sharing
from interview.documents.models import READY, Collection, Document, Passage
from interview.documents.searching import INDEXES, Found, rank, search
from interview.documents.telling import asked
from interview.documents.terms import terms
from interview.runs.models import Run
from interview.runs.worker import Worker
from tests.interview.documents import files
from tests.interview.documents.conftest import Upload, work

pytestmark = pytest.mark.django_db
URL = "/documents/search/"


@pytest.fixture(autouse=True)
def _no_indexes() -> None:
    INDEXES.forget()


@pytest.fixture
def shared(other: User) -> Iterator[set[uuid.UUID]]:
    """Ids of collections that `other` may read, through a way of sharing as a room above registers one."""
    ids: set[uuid.UUID] = set()
    sharing.register(
        sharing.Share(
            "test",
            readable=lambda user: Q(pk__in=ids) if user == other else Q(pk__in=[]),
            audience=lambda collection: ["Harbour class"] if collection.pk in ids else [],
        )
    )
    yield ids
    sharing.unregister("test")


def find(user: User, question: str, embedder: Embedder, **selection: Any) -> Found:
    return search(user, question, selection, embedder, 5)


def test_the_right_passage_comes_first_and_says_why(owner: User, upload: Upload, embedder: Embedder) -> None:
    upload(owner, "lighthouse.pdf", files.pdf(["Nothing here.", files.LIGHTHOUSE]))
    upload(owner, "bakery.txt", files.BAKERY.encode())
    best = find(owner, "How much oil does the lamp burn?", embedder).hits[0]
    assert (best.name, best.page_label) == ("lighthouse.pdf", "page 2")
    assert {"oil", "lamp", "burn"} <= {term for term, _ in best.terms}
    assert abs(sum(score for _, score in best.terms) - best.bm25) < 0.01
    assert best.score == pytest.approx(1 / (60 + best.bm25_rank) + 1 / (60 + best.similarity_rank), abs=1e-5)
    assert -1 <= best.similarity <= 1


def test_meaning_finds_what_no_word_does(owner: User, upload: Upload, embedder: Embedder) -> None:
    upload(owner, "a.txt", b"The physician examined her patients on Monday.")
    upload(owner, "b.txt", b"Rye loaves are sold on Thursdays.")
    found = find(owner, "doctor seeing sick people", embedder).hits
    assert found[0].name == "a.txt" and found[0].bm25_rank == 0


@pytest.mark.parametrize("question", ["the of and", "????", "\u200b?", "灯台", "x" * 2000])
def test_odd_questions_find_or_do_not_but_never_fail(
    owner: User, upload: Upload, embedder: Embedder, question: str
) -> None:
    upload(owner, "a.txt", files.LIGHTHOUSE.encode())
    assert len(find(owner, question, embedder).hits) == 1


def test_nothing_to_search_finds_nothing(owner: User, embedder: Embedder) -> None:
    found = find(owner, "anything", embedder)
    assert (found.hits, found.n_documents) == ([], 0)


def test_terms_are_shown_as_they_were_asked() -> None:
    shown = asked("Which “Lighthouses” were built, and why?")
    assert sorted(shown.values()) == ["built", "lighthouses"]
    assert set(shown) == set(terms("lighthouses built"))


def test_terms_join_a_word_that_a_line_broke() -> None:
    assert terms("the lighthouse keep-\ner wrote") == terms("lighthouse keeper wrote")


def test_only_what_is_chosen_is_searched(owner: User, upload: Upload, embedder: Embedder) -> None:
    collection = services.collection_create(owner=owner, name="Harbour")
    lighthouse = upload(owner, "lighthouse.txt", files.LIGHTHOUSE.encode(), collection)
    bakery = upload(owner, "bakery.txt", files.BAKERY.encode())
    for selection, names in (
        ({}, {"lighthouse.txt", "bakery.txt"}),
        ({"collection": str(collection.pk)}, {"lighthouse.txt"}),
        ({"documents": [str(bakery.pk)]}, {"bakery.txt"}),
        ({"collection": str(collection.pk), "documents": [str(bakery.pk)]}, set()),
    ):
        assert {hit.name for hit in find(owner, "oven or lamp", embedder, **selection).hits} == names
    assert lighthouse.state == READY


def test_nobody_finds_anothers_documents(
    owner: User, other: User, upload: Upload, embedder: Embedder
) -> None:
    collection = services.collection_create(owner=owner, name="Private")
    document = upload(owner, "lighthouse.txt", files.LIGHTHOUSE.encode(), collection)
    upload(other, "bakery.txt", files.BAKERY.encode())
    for selection in ({}, {"documents": [str(document.pk)]}, {"collection": str(collection.pk)}):
        assert "lighthouse.txt" not in {
            hit.name for hit in find(other, "lamp oil", embedder, **selection).hits
        }
    assert find(owner, "lamp oil", embedder).n_documents == 1


def test_a_failed_document_never_brings_anothers_text(
    owner: User, other: User, upload: Upload, embedder: Embedder
) -> None:
    """An unreadable file, then a question to it: no content of any other file answers."""
    upload(other, "lighthouse.txt", files.LIGHTHOUSE.encode())
    upload(owner, "bakery.txt", files.BAKERY.encode())
    broken = upload(owner, "broken.docx", files.docx()[:-200])
    assert find(owner, "lamp oil", embedder, documents=[str(broken.pk)]).hits == []


def test_a_shared_collection_is_read_until_it_is_not(
    owner: User, other: User, upload: Upload, embedder: Embedder, shared: set[uuid.UUID]
) -> None:
    collection = services.collection_create(owner=owner, name="Harbour")
    document = upload(owner, "lighthouse.txt", files.LIGHTHOUSE.encode(), collection)
    upload(owner, "private.txt", b"The lamp oil is hidden in the cellar.")
    assert find(other, "lamp oil", embedder).hits == []
    shared.add(collection.pk)
    assert {hit.name for hit in find(other, "lamp oil", embedder).hits} == {"lighthouse.txt"}
    reader = Client()
    reader.force_login(other)
    assert "lamp burns" in reader.get(f"/documents/{document.pk}/").content.decode()
    assert reader.get(f"/documents/collections/{collection.pk}/").status_code == 200
    assert reader.get(f"/api/v1/documents/{document.pk}").json()["own"] is False
    for way in ("delete", "retry", "cancel"):
        assert reader.post(f"/documents/{document.pk}/{way}/").status_code == 404
    for way in ("rename", "delete", f"take/{document.pk}", f"put/{document.pk}"):
        assert reader.post(f"/documents/collections/{collection.pk}/{way}/", {"name": "x"}).status_code == 404
    assert reader.post(f"/documents/collections/{collection.pk}/").status_code == 404
    assert reader.delete(f"/api/v1/documents/{document.pk}").status_code == 404
    shared.clear()
    assert find(other, "lamp oil", embedder).hits == []
    assert reader.get(f"/documents/{document.pk}/").status_code == 404


def test_the_owner_is_told_who_reads_a_collection(
    owner: User, owner_client: Client, shared: set[uuid.UUID]
) -> None:
    collection = services.collection_create(owner=owner, name="Harbour")
    shared.add(collection.pk)
    assert "Harbour class" in owner_client.get(f"/documents/collections/{collection.pk}/").content.decode()


def test_what_is_deleted_is_not_found_again(owner: User, upload: Upload, embedder: Embedder) -> None:
    document = upload(owner, "lighthouse.txt", files.LIGHTHOUSE.encode())
    upload(owner, "bakery.txt", files.BAKERY.encode())
    assert find(owner, "lamp oil", embedder).hits[0].name == "lighthouse.txt"
    services.document_delete(document)
    assert {hit.name for hit in find(owner, "lamp oil", embedder).hits} == {"bakery.txt"}


def test_a_search_is_a_run_with_its_page(
    owner: User, owner_client: Client, other_client: Client, upload: Upload, worker: Worker
) -> None:
    upload(owner, "lighthouse.pdf", files.pdf([files.LIGHTHOUSE]))
    form = {"question": "lamp oil", "most": "3", "scope": "", "idempotency_key": "k1"}
    sent = owner_client.post(URL, form)
    assert sent.status_code == 302
    work(worker)
    page = owner_client.get(sent["Location"]).content.decode()
    assert "BM25" in page and "cosine" in page and "Its lamp burns" in page
    assert "#cited" in page
    fragment = owner_client.get(sent["Location"], headers={"HX-Request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<div id="run"')
    assert other_client.get(sent["Location"]).status_code == 404
    run = Run.objects.get(kind="search")
    for way in ("", "events/", "trace/", "status/"):
        assert other_client.get(f"/runs/{run.pk}/{way}").status_code == 404


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"question": ""}, "question"),
        ({"question": "\u200b"}, "question"),
        ({"question": "x" * 2001}, "question"),
        ({"most": "0"}, "most"),
        ({"most": "21"}, "most"),
        ({"scope": f"d:{uuid.uuid4()}"}, "scope"),
        ({"scope": f"c:{uuid.uuid4()}"}, "scope"),
        ({"scope": "x"}, "scope"),
    ],
)
def test_a_bad_value_is_named_and_the_rest_kept(
    owner_client: Client, changes: dict[str, str], field: str
) -> None:
    form = {"question": "Keep me", "most": "3", "scope": "", "idempotency_key": "k1", **changes}
    response = owner_client.post(URL, form)
    assert response.status_code == 422 and response.context["form"].errors[field]
    if field != "question":
        assert "Keep me" in response.content.decode()
    assert not Run.objects.exists()


def test_anothers_document_can_not_be_chosen(owner: User, other_client: Client, upload: Upload) -> None:
    document = upload(owner, "lighthouse.txt", files.LIGHTHOUSE.encode())
    form = {"question": "x", "most": "3", "scope": f"d:{document.pk}", "idempotency_key": "k1"}
    assert other_client.post(URL, form).status_code == 422
    assert "lighthouse.txt" not in other_client.get(URL).content.decode()


def test_a_citation_is_highlighted_on_its_page(owner: User, owner_client: Client, upload: Upload) -> None:
    document = upload(owner, "two.pdf", files.pdf([files.BAKERY, files.LIGHTHOUSE]))
    text = "\n".join(page.text for page in document.pages.all())
    start = text.index("lamp burns")
    page = owner_client.get(f"/documents/{document.pk}/?from={start}&to={start + 10}").content.decode()
    assert '<mark class="cited" id="cited">lamp burns</mark>' in page
    assert "Page 2" in page


def test_a_citation_over_two_pages_goes_on(owner: User, owner_client: Client, upload: Upload) -> None:
    document = upload(owner, "two.pdf", files.pdf(["It ends in the", "middle of a sentence."]))
    page = owner_client.get(f"/documents/{document.pk}/?from=8&to=26").content.decode()
    assert ">in the</mark>" in page and "goes on on the next page" in page
    page = owner_client.get(f"/documents/{document.pk}/?page=2&from=8&to=26").content.decode()
    assert 'id="cited">middle of a' in page


@pytest.mark.parametrize("query", ["page=99", "page=0&from=x&to=9", "from=999999&to=9999999", "from=9&to=3"])
def test_odd_places_are_answered(owner: User, owner_client: Client, upload: Upload, query: str) -> None:
    document = upload(owner, "a.txt", files.LIGHTHOUSE.encode())
    expected = 404 if query == "page=99" else 200
    assert owner_client.get(f"/documents/{document.pk}/?{query}").status_code == expected


def test_ten_thousand_passages_are_searched_in_fifty_milliseconds(owner: User, embedder: Embedder) -> None:
    document = Document.objects.create(
        owner=owner, name="big", sha256="0" * 64, size=1, state=READY, version=1
    )
    random = np.random.default_rng(1)
    vectors = random.normal(size=(10_000, 384))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = files.ordinary_text(10_000 * 60).split()
    Passage.objects.bulk_create(
        Passage(
            document=document,
            version=1,
            number=n,
            start=n,
            end=n + 1,
            page=1,
            text=" ".join(words[n * 60 : (n + 1) * 60]),
            vector=vectors[n].astype("float16").tobytes(),
        )
        for n in range(10_000)
    )
    index, built = INDEXES.get(frozenset({(str(document.pk), 1)}))
    assert built and INDEXES.get(frozenset({(str(document.pk), 1)})) == (index, False)
    assert len(index) == 10_000
    question = terms("Which lantern did the keeper carry to the quarry in the winter storm?")
    vector = embedder.encode(["lantern"])[0]
    spent, waited = [], []
    for _ in range(60):
        began, started = time.perf_counter(), time.process_time()
        ranked = rank(index, question, vector, 6)
        spent.append(time.process_time() - started)
        waited.append(time.perf_counter() - began)
        assert len(ranked) == 6
    assert sorted(spent)[57] < 0.05, spent
    assert sorted(waited)[30] < 0.05, waited
    assert index.bm25 is not None
    for found in ranked:
        row = int(np.flatnonzero(index.keys == found.key)[0])
        known = [term for term in dict.fromkeys(question) if term in index.known]
        assert found.bm25 == pytest.approx(float(index.bm25.get_scores(known)[row]), abs=2e-3), "bm25s agrees"
    assert Collection.objects.count() == 0
