"""A collection shared with a class: members read and ask it, the teacher sees what they ask, leaving ends it."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client
from django.utils import timezone

from engine.embeddings import Embedder
from interview.accounts.models import User
from interview.documents import services
from interview.documents.models import ClassShare, Collection
from interview.documents.searching import INDEXES, search
from interview.runs.services import run_create
from interview.teaching.models import LEARNER, Classroom, Membership
from interview.teaching.services.classes import class_create
from tests.interview.documents import files
from tests.interview.documents.conftest import Upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def classroom(owner: User, other: User) -> Classroom:
    """`owner` teaches, `other` learns."""
    made = class_create(owner=owner, name="Harbour class", time_zone="UTC")
    Membership.objects.create(classroom=made, owner=other, role=LEARNER)
    return made


@pytest.fixture
def collection(owner: User, upload: Upload) -> Collection:
    INDEXES.forget()
    made = services.collection_create(owner=owner, name="Handbook")
    upload(owner, "lighthouse.txt", files.LIGHTHOUSE.encode(), made)
    return made


def found(user: User, embedder: Embedder) -> set[str]:
    return {hit.name for hit in search(user, "lamp oil", {}, embedder, 5).hits}


def test_members_read_and_ask_until_they_leave_or_it_is_taken_back(
    owner_client: Client,
    other: User,
    other_client: Client,
    classroom: Classroom,
    collection: Collection,
    embedder: Embedder,
) -> None:
    page = f"/documents/collections/{collection.pk}/"
    assert other_client.get(page).status_code == 404 and found(other, embedder) == set()
    assert owner_client.post(page + "share/", {"class": str(classroom.pk)}).status_code == 302
    assert "Harbour class" in owner_client.get(page).content.decode()
    shown = other_client.get(page).content.decode()
    assert "lighthouse.txt" in shown and "Share with a class" not in shown
    assert "Handbook" in other_client.get("/documents/").content.decode()
    assert found(other, embedder) == {"lighthouse.txt"}
    Membership.objects.filter(owner=other).update(left=timezone.now())
    assert other_client.get(page).status_code == 404 and found(other, embedder) == set()
    Membership.objects.filter(owner=other).update(left=None)
    assert owner_client.post(f"{page}unshare/{classroom.pk}/").status_code == 302
    assert other_client.get(page).status_code == 404 and found(other, embedder) == set()


def test_the_teacher_sees_what_the_class_asks_this_collection(
    owner_client: Client, other: User, classroom: Classroom, collection: Collection
) -> None:
    ClassShare.objects.create(collection=collection, classroom=classroom)
    asks = {"question": "Who kept the log?", "most": 6, "style": "quote"}
    run_create(owner=other, kind="ask", input={**asks, "collection": str(collection.pk)})
    run_create(owner=other, kind="ask", input={**asks, "question": "Something private"})
    page = owner_client.get(f"/documents/collections/{collection.pk}/").content.decode()
    assert "Who kept the log?" in page and "Something private" not in page


def test_only_a_class_one_teaches_can_be_given_ones_own_collection(
    owner: User,
    owner_client: Client,
    other: User,
    other_client: Client,
    classroom: Classroom,
    collection: Collection,
) -> None:
    page = f"/documents/collections/{collection.pk}/"
    theirs = class_create(owner=other, name="Another", time_zone="UTC")
    for wrong in (str(theirs.pk), str(uuid.uuid4()), "x", ""):
        assert owner_client.post(page + "share/", {"class": wrong}).status_code == 404
    assert other_client.post(page + "share/", {"class": str(theirs.pk)}).status_code == 404
    assert not ClassShare.objects.exists()


def test_what_was_asked_before_sharing_stays_private(
    owner_client: Client, other: User, classroom: Classroom, collection: Collection
) -> None:
    asks = {"most": 6, "style": "quote", "collection": str(collection.pk)}
    run_create(owner=other, kind="ask", input={**asks, "question": "Before it was shared"})
    ClassShare.objects.create(collection=collection, classroom=classroom)
    run_create(owner=other, kind="ask", input={**asks, "question": "Since it is shared"})
    page = owner_client.get(f"/documents/collections/{collection.pk}/").content.decode()
    assert "Since it is shared" in page and "Before it was shared" not in page
    Membership.objects.filter(owner=other).update(joined=timezone.now())
    page = owner_client.get(f"/documents/collections/{collection.pk}/").content.decode()
    assert "Since it is shared" not in page
