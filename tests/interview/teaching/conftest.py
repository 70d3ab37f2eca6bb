"""A class with everybody in it, and questions of its own, so that the bank needn't be loaded."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from django.test import Client

from interview.accounts.models import User
from interview.questions.models import Question, RubricVersion, Topic
from interview.teaching.models import (
    ASSISTANT,
    LEARNER,
    OWNER,
    TEACHER,
    Classroom,
    Membership,
    QuestionSet,
    SetItem,
)
from interview.teaching.services.classes import class_create
from interview.teaching.services.sets import items_add, set_create


def account(name: str) -> User:
    """An account without a password: tests sign it in directly."""
    return User.objects.create_user(f"{name}@example.org", name=name.capitalize(), time_zone="Europe/Zurich")


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@dataclass
class World:
    """A class, its people, and a teacher of another class who must see nothing."""

    classroom: Classroom
    owner: User
    teacher: User
    assistant: User
    learner: User
    classmate: User
    stranger: User
    elsewhere: Classroom
    question_set: QuestionSet

    def seat(self, user: User) -> Membership:
        return Membership.objects.get(classroom=self.classroom, owner=user)


def set_make(owner: User, *slugs: str) -> QuestionSet:
    """A set of fresh questions: 2 points for the first, 1 for the others."""
    made = set_create(owner=owner, title="Caches and batches")
    items_add(question_set=made, questions=[question_make(slug) for slug in slugs])
    SetItem.objects.filter(question_set=made, position=1).update(points=2)
    return made


@pytest.fixture
def world(db: None) -> World:
    """The class “Serving models”, zone Europe/Zurich."""
    owner = account("olga")
    classroom = class_create(owner=owner, name="Serving models", time_zone="Europe/Zurich")
    people = {name: account(name) for name in ("tara", "anton", "lena", "milo")}
    for name, role in (("tara", TEACHER), ("anton", ASSISTANT), ("lena", LEARNER), ("milo", LEARNER)):
        Membership.objects.create(classroom=classroom, owner=people[name], role=role)
    stranger = account("sven")
    elsewhere = class_create(owner=stranger, name="Another class", time_zone="UTC")
    assert Membership.objects.filter(owner=stranger, role=OWNER).exists()
    return World(
        classroom,
        owner,
        people["tara"],
        people["anton"],
        people["lena"],
        people["milo"],
        stranger,
        elsewhere,
        set_make(owner, "paging", "batching", "sampling"),
    )


POINTS = [
    {"id": "grows", "means": "The cache grows with every token.", "weight": 2},
    {"id": "reads", "means": "Each step reads the whole cache.", "weight": 1},
]


def question_make(slug: str, *, topic: str = "caches") -> Question:
    """A question with a rubric of two points."""
    room, _ = Topic.objects.get_or_create(pk=topic, defaults={"title": topic.capitalize(), "summary": "x"})
    question = Question.objects.create(
        pk=slug,
        topic=room,
        level="mid",
        title=f"Why {slug}?",
        prompt=f"Explain {slug}.",
        strong=f"STRONG {slug}",
        weak=f"WEAK {slug}",
        weak_wrong=f"WRONG {slug}",
        calculators=[{"slug": "kv-cache", "query": "tokens=1000", "label": "KV cache"}],
        playground=[{"page": "generate", "label": "Generate"}],
    )
    body = {"points": POINTS, "misconceptions": []}
    question.rubric = RubricVersion.objects.create(question=question, hash=slug.ljust(64, "0"), body=body)
    question.save(update_fields=["rubric"])
    return question
