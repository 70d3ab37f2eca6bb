"""Reads of the question bank. Key points and strong answers never leave through here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from interview.accounts.models import User
from interview.questions.models import Question, Topic

SERVED = Q(retired__isnull=True)
BANK = Q(owner__isnull=True, uid="")  # an own question whose author has left keeps its uid
Visibility = Callable[[User], Q]
_also_visible: list[Visibility] = []


def register_visibility(also: Visibility) -> None:
    """Let another room show own questions to more people: `also(user)` says which."""
    _also_visible.append(also)


def visible_to(user: User | None) -> Q:
    """Questions somebody may be asked: the bank's, their own, and what other rooms give them."""
    if user is None:
        return BANK
    shown = BANK | Q(owner=user)
    for also in _also_visible:
        shown |= also(user)
    return shown


def topic_list() -> QuerySet[Topic]:
    """Topics in teaching order, each with `n_questions`."""
    bank = Q(questions__retired__isnull=True, questions__owner__isnull=True, questions__uid="")
    served = Count("questions", filter=bank)
    # A query that counts loses the model's own ordering, so it is asked for again.
    return Topic.objects.filter(SERVED).annotate(n_questions=served).order_by("order", "id")


def topic_get(topic_id: str) -> Topic | None:
    """One served topic."""
    return Topic.objects.filter(SERVED, pk=topic_id).first()


def question_list(*, search: str = "", topic: str = "", level: str = "") -> QuerySet[Question]:
    """Served questions of the bank with their topic, narrowed by words, topic and level."""
    questions = Question.objects.filter(SERVED & BANK).select_related("topic")
    for word in search.split()[:8]:
        questions = questions.filter(
            Q(title__icontains=word) | Q(prompt__icontains=word) | Q(topic__title__icontains=word)
        )
    if topic:
        questions = questions.filter(topic_id=topic)
    if level:
        questions = questions.filter(level=level)
    return questions


def question_get(question_id: str, user: User | None = None) -> Question | None:
    """One question that `user` may see, with topic and rubric; retired ones of the bank stay readable."""
    related = Question.objects.select_related("topic", "rubric")
    return related.filter(visible_to(user), pk=question_id).first()


def question_of_the_day(day: date | None = None) -> Question | None:
    """The same question for everybody all day (UTC), walking through the bank in order."""
    ids = list(Question.objects.filter(SERVED & BANK).order_by("id").values_list("id", flat=True))
    if not ids:
        return None
    today = day or timezone.now().date()
    return question_get(ids[today.toordinal() % len(ids)])
