"""Bring the database in line with the text files of the bank. Nothing is ever deleted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from interview.questions import loader
from interview.questions.models import Question, RubricVersion, Topic

_TOPIC_FIELDS = ("title", "order", "summary", "primer", "retired")
_QUESTION_FIELDS = (
    "topic",
    "level",
    "title",
    "position",
    "prompt",
    "strong",
    "weak",
    "weak_wrong",
    "probes",
    "calculators",
    "playground",
    "sources",
    "retired",
)


@dataclass
class Synced:
    """What a load changed."""

    topics: int = 0
    questions: int = 0
    new_rubrics: int = 0
    retired: int = 0


@transaction.atomic
def bank_sync(bank: loader.Bank) -> Synced:
    """Upsert topics and questions by id, write rubric versions that are new, retire what left the files."""
    synced = Synced(topics=len(bank.topics), questions=len(bank.questions))
    _upsert(Topic, [Topic(id=topic.id, **_topic_fields(topic)) for topic in bank.topics])
    rows = [
        Question(id=question.id, **_fields(question, position))
        for position, question in enumerate(bank.questions)
    ]
    _upsert(Question, rows)
    synced.new_rubrics = _current_rubrics(bank)
    synced.retired = _retire(bank)
    return synced


def _upsert(model: type[Topic] | type[Question], rows: list[Any]) -> None:
    """One statement for all rows: what the files say wins, everything else stays."""
    said = _TOPIC_FIELDS if model is Topic else _QUESTION_FIELDS
    model._default_manager.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=said)


def _topic_fields(topic: loader.Topic) -> dict[str, Any]:
    return {
        "title": topic.title,
        "order": topic.order,
        "summary": topic.summary,
        "primer": topic.primer,
        "retired": None,
    }


def _fields(question: loader.Question, position: int) -> dict[str, Any]:
    return {
        "topic_id": question.topic,
        "level": question.level,
        "title": question.title,
        "position": position,
        "prompt": question.prompt,
        "strong": question.strong_answer,
        "weak": question.weak_answer,
        "weak_wrong": question.weak_because,
        "probes": [asdict(probe) for probe in question.probes],
        "calculators": [asdict(link) for link in question.calculators],
        "playground": [asdict(link) for link in question.playground],
        "sources": [asdict(source) for source in question.sources],
        "retired": None,
    }


def _current_rubrics(bank: loader.Bank) -> int:
    """Point each question at the version with its content, writing those that are new; how many were."""
    hashes = {question.id: question.rubric.hash for question in bank.questions}
    known = _versions(list(hashes))
    new = [
        RubricVersion(question_id=question.id, hash=hashes[question.id], body=question.rubric.to_dict())
        for question in bank.questions
        if (question.id, hashes[question.id]) not in known
    ]
    RubricVersion.objects.bulk_create(new)
    known = _versions(list(hashes))
    moved = []
    for row in Question.objects.filter(pk__in=hashes).only("pk", "rubric_id"):
        if row.rubric_id != known[row.pk, hashes[row.pk]]:
            row.rubric_id = known[row.pk, hashes[row.pk]]
            moved.append(row)
    Question.objects.bulk_update(moved, ["rubric"])
    return len(new)


def _versions(ids: list[str]) -> dict[tuple[str, str], int]:
    rows = RubricVersion.objects.filter(question_id__in=ids).values_list("question_id", "hash", "pk")
    return {(question, hash): pk for question, hash, pk in rows}


def _retire(bank: loader.Bank) -> int:
    now = timezone.now()
    questions = [question.id for question in bank.questions]
    topics = [topic.id for topic in bank.topics]
    Topic.objects.filter(retired__isnull=True).exclude(id__in=topics).update(retired=now)
    left = Question.objects.filter(retired__isnull=True, owner__isnull=True, uid="").exclude(id__in=questions)
    return left.update(retired=now)
