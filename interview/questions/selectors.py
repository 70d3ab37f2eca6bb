"""Reads of the question bank. Key points and strong answers never leave through here."""

from __future__ import annotations

from datetime import date

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from interview.questions.models import Question, Topic

SERVED = Q(retired__isnull=True)


def topic_list() -> QuerySet[Topic]:
    """Topics in teaching order, each with `n_questions`."""
    served = Count("questions", filter=Q(questions__retired__isnull=True))
    # A query that counts loses the model's own ordering, so it is asked for again.
    return Topic.objects.filter(SERVED).annotate(n_questions=served).order_by("order", "id")


def topic_get(topic_id: str) -> Topic | None:
    """One served topic."""
    return Topic.objects.filter(SERVED, pk=topic_id).first()


def question_list(*, search: str = "", topic: str = "", level: str = "") -> QuerySet[Question]:
    """Served questions with their topic, narrowed by words, topic and level."""
    questions = Question.objects.filter(SERVED).select_related("topic")
    for word in search.split()[:8]:
        questions = questions.filter(
            Q(title__icontains=word) | Q(prompt__icontains=word) | Q(topic__title__icontains=word)
        )
    if topic:
        questions = questions.filter(topic_id=topic)
    if level:
        questions = questions.filter(level=level)
    return questions


def question_get(question_id: str) -> Question | None:
    """One question with topic and rubric; retired ones stay readable for those who answered them."""
    return Question.objects.select_related("topic", "rubric").filter(pk=question_id).first()


def question_of_the_day(day: date | None = None) -> Question | None:
    """The same question for everybody all day (UTC), walking through the bank in order."""
    ids = list(Question.objects.filter(SERVED).order_by("id").values_list("id", flat=True))
    if not ids:
        return None
    today = day or timezone.now().date()
    return question_get(ids[today.toordinal() % len(ids)])
