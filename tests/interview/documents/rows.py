"""One row of every model of this room, for the tests of export, deletion and adoption."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db.models import Model
from django.utils import timezone

from interview.accounts.models import User
from interview.documents.models import (
    AssignmentCollection,
    ClassShare,
    Collection,
    Document,
    Evaluation,
    Page,
    Passage,
)
from interview.questions.models import Question
from interview.teaching.models import Assignment, Classroom
from tests.interview.accounts.mark import MARK, Maker


def document(owner: User, question: Question) -> Document:
    return Document.objects.create(owner=owner, name=MARK, sha256=uuid.uuid4().hex * 2, size=1)


def page(owner: User, question: Question) -> Model:
    return Page.objects.create(
        document=document(owner, question), version=1, number=1, label="page 1", start=0, text=MARK
    )


def passage(owner: User, question: Question) -> Model:
    return Passage.objects.create(
        document=document(owner, question), version=1, number=1, start=0, end=1, page=1, text=MARK, vector=b""
    )


def collection(owner: User, question: Question) -> Collection:
    return Collection.objects.create(owner=owner, name=MARK)


def collected(owner: User, question: Question) -> Model:
    return Collection.documents.through.objects.create(
        collection=collection(owner, question), document=document(owner, question)
    )


def evaluation(owner: User, question: Question) -> Model:
    return Evaluation.objects.create(owner=owner, name=MARK, style="quote", questions=[])


def class_share(owner: User, question: Question) -> Model:
    classroom = Classroom.objects.create(name="A class", time_zone="UTC")
    return ClassShare.objects.create(collection=collection(owner, question), classroom=classroom)


def with_assignment(owner: User, question: Question) -> Model:
    classroom = Classroom.objects.create(name="A class", time_zone="UTC")
    now = timezone.now()
    assignment = Assignment.objects.create(
        classroom=classroom, title="Week one", opens=now, due=now + timedelta(days=7)
    )
    return AssignmentCollection.objects.create(collection=collection(owner, question), assignment=assignment)


OWNED: dict[str, Maker] = {
    "documents.collection.owner": collection,
    "documents.document.owner": document,
    "documents.evaluation.owner": evaluation,
}
DEPENDENT: dict[str, Maker] = {
    "documents.assignmentcollection": with_assignment,
    "documents.classshare": class_share,
    "documents.collection_documents": collected,
    "documents.page": page,
    "documents.passage": passage,
}
# Rows that only tie two others together hold no words of their owner.
TIES = {"documents.assignmentcollection", "documents.classshare", "documents.collection_documents"}
