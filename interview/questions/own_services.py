"""Writes of own questions: each saved state is a version, and the rubric an answer was held against stays."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.questions.content import Content, ContentRefused, Fault
from interview.questions.models import OTHER_TOPIC, Question, QuestionVersion, RubricVersion, Topic

OWN_LIMIT = 2_000  # questions an account may keep


def new_uid() -> str:
    """An id nobody else has; it stays with the question through every export and import."""
    return secrets.token_hex(8)


def other_topic() -> Topic:
    """The topic of questions about anything else; retired, so that no list of the bank shows it."""
    fields = {
        "title": "Other",
        "order": 9_999,
        "summary": "Own questions about anything else.",
        "retired": timezone.now(),
    }
    return Topic.objects.get_or_create(id=OTHER_TOPIC, defaults=fields)[0]


@transaction.atomic
def question_write(*, owner: User, content: Content) -> tuple[Question, bool]:
    """Make the owner's question with this `uid`, or update it; whether anything was new.

    Raises ContentRefused when the account is full.
    """
    User.objects.select_for_update().get(pk=owner.pk)  # two imports at once take turns
    found = Question.objects.filter(owner=owner, uid=content.uid).first()
    if found is not None and found.retired is None and _current_hash(found) == content.hash:
        return found, False
    if found is None:
        _check_room(owner)
        found = Question(id=f"own-{uuid.uuid4().hex[:20]}", owner=owner, uid=content.uid)
    if content.topic == OTHER_TOPIC:
        other_topic()
    for name, value in _fields(content).items():
        setattr(found, name, value)
    found.save()
    found.rubric = _rubric(found, content)
    found.save(update_fields=["rubric"])
    last = found.versions.values_list("number", flat=True).first() or 0
    QuestionVersion.objects.create(question=found, number=last + 1, hash=content.hash, body=content.to_dict())
    return found, True


def _check_room(owner: User) -> None:
    kept = Question.objects.filter(owner=owner).count()
    if kept >= OWN_LIMIT:
        raise ContentRefused([Fault("", f"You keep {kept:,} questions, and {OWN_LIMIT:,} is the limit.")])


def _current_hash(question: Question) -> str | None:
    return question.versions.values_list("hash", flat=True).first()


def _fields(content: Content) -> dict[str, object]:
    return {
        "topic_id": content.topic,
        "level": content.level,
        "title": content.title,
        "prompt": content.prompt,
        "strong": content.strong,
        "weak": content.weak,
        "weak_wrong": content.weak_wrong,
        "probes": content.probes,
        "samples": content.samples,
        "sources": content.sources,
        "calculators": content.calculators,
        "playground": content.playground,
        "retired": None,
        "updated": timezone.now(),
    }


def _rubric(question: Question, content: Content) -> RubricVersion:
    rubric = content.rubric
    return RubricVersion.objects.get_or_create(
        question=question, hash=rubric.hash, defaults={"body": rubric.to_dict()}
    )[0]


@dataclass(frozen=True)
class Imported:
    """What an import did."""

    made: int
    changed: int
    unchanged: int


@transaction.atomic
def questions_import(*, owner: User, contents: Iterable[Content]) -> Imported:
    """Write all of them or none. Raises ContentRefused."""
    known = set(Question.objects.filter(owner=owner).values_list("uid", flat=True))
    made = changed = unchanged = 0
    for content in contents:
        _, new = question_write(owner=owner, content=content)
        if content.uid not in known:
            made += 1
        elif new:
            changed += 1
        else:
            unchanged += 1
    return Imported(made, changed, unchanged)


@transaction.atomic
def question_remove(question: Question) -> bool:
    """Delete an own question; one that was answered is retired instead, so that no answer is lost. Whether deleted."""
    if question.attempts.exists():
        question.retired = timezone.now()
        question.save(update_fields=["retired"])
        return False
    question.delete()
    return True
