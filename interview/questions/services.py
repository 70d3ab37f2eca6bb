"""Bring the database in line with the text files of the bank. Nothing is ever deleted."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.db import transaction
from django.utils import timezone

from interview.questions import loader
from interview.questions.models import Question, RubricVersion, Topic


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
    synced = Synced()
    for topic in bank.topics:
        fields = {
            "title": topic.title,
            "order": topic.order,
            "summary": topic.summary,
            "primer": topic.primer,
        }
        Topic.objects.update_or_create(id=topic.id, defaults={**fields, "retired": None})
        synced.topics += 1
    for position, question in enumerate(bank.questions):
        row, _ = Question.objects.update_or_create(id=question.id, defaults=_fields(question, position))
        synced.new_rubrics += _current_rubric(row, question)
        synced.questions += 1
    synced.retired = _retire(bank)
    return synced


def _fields(question: loader.Question, position: int) -> dict[str, object]:
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


def _current_rubric(row: Question, question: loader.Question) -> int:
    """Point the question at the version with this content, writing it when it is new; 1 if it was."""
    rubric, made = RubricVersion.objects.get_or_create(
        question=row, hash=question.rubric.hash, defaults={"body": question.rubric.to_dict()}
    )
    if row.rubric_id != rubric.pk:
        row.rubric = rubric
        row.save(update_fields=["rubric"])
    return int(made)


def _retire(bank: loader.Bank) -> int:
    now = timezone.now()
    questions = [question.id for question in bank.questions]
    topics = [topic.id for topic in bank.topics]
    Topic.objects.filter(retired__isnull=True).exclude(id__in=topics).update(retired=now)
    left = Question.objects.filter(retired__isnull=True, owner__isnull=True, uid="").exclude(id__in=questions)
    return left.update(retired=now)
