"""A class with everybody in it, and questions of its own, so that the bank needn't be loaded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from interview.accounts.models import User
from interview.questions.models import Question, RubricVersion, Topic
from interview.teaching.models import (
    ASSISTANT,
    LEARNER,
    OWNER,
    TEACHER,
    Assignment,
    Classroom,
    Membership,
    QuestionSet,
    SetItem,
    Submission,
)
from interview.teaching.services.assess import answers_assessed, submission_ended
from interview.teaching.services.assignments import assignment_create
from interview.teaching.services.classes import class_create
from interview.teaching.services.sets import items_add, set_create
from interview.teaching.services.work import answer_save, attempt_start, hand_in


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
    assignment: Assignment

    def seat(self, user: User) -> Membership:
        return Membership.objects.get(classroom=self.classroom, owner=user)


def set_make(owner: User, *slugs: str) -> QuestionSet:
    """A set of fresh questions: 2 points for the first, 1 for the others."""
    made = set_create(owner=owner, title="Caches and batches")
    items_add(question_set=made, questions=[question_make(slug) for slug in slugs])
    SetItem.objects.filter(question_set=made, position=1).update(points=2)
    return made


def assign(classroom: Classroom, question_set: QuestionSet, **rules: Any) -> Assignment:
    """Open since an hour, due in a week, unless told otherwise."""
    now = timezone.now()
    dates = {"opens": now - timedelta(hours=1), "due": now + timedelta(days=7)}
    fields: dict[str, Any] = {"title": "Week one", **dates, **rules}
    return assignment_create(classroom=classroom, source=question_set, **fields)


@pytest.fixture
def world(db: None) -> World:
    """The class “Serving models”, zone Europe/Zurich."""
    owner = account("olga")
    classroom = class_create(owner=owner, name="Serving models", time_zone="Europe/Zurich")
    people = {name: account(name) for name in ("tara", "anton", "lena", "milo")}
    for name, role in (("tara", TEACHER), ("anton", ASSISTANT), ("lena", LEARNER), ("milo", LEARNER)):
        Membership.objects.create(classroom=classroom, owner=people[name], role=role)
    question_set = set_make(owner, "paging", "batching", "sampling")
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
        question_set,
        assign(classroom, question_set),
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


def verdict_of(share: float, *, flags: tuple[str, ...] = (), label: str = "partial") -> dict[str, Any]:
    """A verdict as the grader gives it, for a question of `question_make`."""
    state = "met" if share >= 1 else "partial" if share > 0 else "missing"
    return {
        "score": share,
        "verdict": "correct" if share >= 1 else label,
        "points": [
            {"id": "grows", "state": state, "evidence": [0, 4] if share else None, "why": "WHY grows"},
            {"id": "reads", "state": state, "evidence": None, "why": ""},
        ],
        "misconceptions": [],
        "flags": list(flags),
        "grader": "prefill-grader-1",
    }


def work_on(assignment: Assignment, learner: User, text: str = "Some words.") -> Submission:
    """An open attempt with the same text as every answer."""
    submission = attempt_start(assignment=assignment, learner=learner)
    for answer in submission.answers.all():
        answer_save(submission=submission, item_id=answer.item_id, text=text)
    return submission


def assess(submission: Submission, share: float = 1.0, **verdict: Any) -> Submission:
    """What the worker does with a submission, with this verdict on every answer that has none."""
    waiting = submission.answers.select_related("item__rubric").filter(verdict__isnull=True, share=None)
    answers_assessed([(answer, verdict_of(share, **verdict)) for answer in waiting])
    assert submission.run is not None
    submission_ended(submission.run)
    submission.refresh_from_db()
    return submission


def handed_in(
    assignment: Assignment, learner: User, *, at: datetime | None = None, share: float | None = 1.0
) -> Submission:
    """An attempt handed in (at a moment) and assessed, unless `share` is None."""
    with time_machine.travel(at or timezone.now(), tick=False):
        submission = hand_in(submission=work_on(assignment, learner))
    return submission if share is None else assess(submission, share)
