"""Reads of own questions; only their author sees them here."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Count, QuerySet

from interview.accounts.models import User
from interview.questions.content import FIELDS, Content
from interview.questions.models import OTHER_TOPIC, Question, QuestionVersion, Topic


def own_list(owner: User) -> QuerySet[Question]:
    """Somebody's own questions, the last changed first, each with `n_attempts` and `n_versions`."""
    counts = {
        "n_attempts": Count("attempts", distinct=True),
        "n_versions": Count("versions", distinct=True),
    }
    own = Question.objects.select_related("topic").filter(owner=owner, retired__isnull=True)
    return own.annotate(**counts).order_by("-updated", "id")


def own_get(question_id: str, owner: User | None) -> Question | None:
    """One of somebody's own questions with topic and rubric."""
    if owner is None:
        return None
    related = Question.objects.select_related("topic", "rubric")
    return related.filter(pk=question_id, owner=owner, retired__isnull=True).first()


def version_list(question: Question) -> QuerySet[QuestionVersion]:
    """The saved states of a question, the newest first."""
    return question.versions.all()


def content_of(question: Question) -> Content:
    """An own question as plain data."""
    rubric = question.rubric.body if question.rubric else {"points": [], "misconceptions": []}
    values = {name: getattr(question, name) for name in FIELDS if name not in ("topic", *rubric)}
    return Content(**values, **rubric, topic=question.topic_id)


def contents_of(questions: Iterable[Question]) -> list[Content]:
    """Own questions as plain data."""
    return [content_of(question) for question in questions]


def topic_ids() -> set[str]:
    """Topics an own question may have: the bank's, and the one for anything else."""
    served = Topic.objects.filter(retired__isnull=True).values_list("id", flat=True)
    return {*served, OTHER_TOPIC}


def uids_with_hashes(owner: User) -> dict[str, str]:
    """What the owner keeps already: uid → hash of its newest version."""
    own = QuestionVersion.objects.filter(question__owner=owner, question__retired__isnull=True)
    return dict(own.order_by("number").values_list("question__uid", "hash"))
