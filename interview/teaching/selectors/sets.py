"""Reads of question sets."""

from __future__ import annotations

import uuid
from decimal import Decimal

from django.db.models import Count, F, Prefetch, Q, QuerySet, Sum

from interview.accounts.models import User
from interview.questions import selectors as questions
from interview.questions.models import Question
from interview.teaching.models import QuestionSet, SetItem


def usable_questions(user: User) -> QuerySet[Question]:
    """Questions this person may put into a set: the bank's and their own."""
    found = Question.objects.filter(questions.SERVED & (questions.BANK | Q(owner=user)))
    return found.select_related("topic")


def pick_list(
    user: User, *, search: str = "", topic: str = "", level: str = "", own: bool = False
) -> QuerySet[Question]:
    """The same, narrowed while picking; one's own come first."""
    found = usable_questions(user)
    for word in search.split()[:8]:
        found = found.filter(
            Q(title__icontains=word) | Q(prompt__icontains=word) | Q(topic__title__icontains=word)
        )
    if topic:
        found = found.filter(topic_id=topic)
    if level:
        found = found.filter(level=level)
    if own:
        found = found.filter(owner=user)
    return found.order_by(F("owner").desc(nulls_last=True), "position", "id")


def set_list(owner: User) -> QuerySet[QuestionSet]:
    """One's sets with the number of questions and the sum of points, last changed first."""
    return _counted(QuestionSet.objects.filter(owner=owner)).order_by("-updated")


def gallery(search: str = "") -> QuerySet[QuestionSet]:
    """Published sets, the newest first."""
    found = QuestionSet.objects.filter(published__isnull=False, owner__is_active=True).select_related("owner")
    for word in search.split()[:8]:
        found = found.filter(title__icontains=word)
    return _counted(found).order_by("-published")


def _counted(sets: QuerySet[QuestionSet]) -> QuerySet[QuestionSet]:
    return sets.annotate(n_items=Count("items"), sum_points=Sum("items__points"))


def set_own(owner: User, set_id: uuid.UUID) -> QuestionSet | None:
    """A set of one's own."""
    return QuestionSet.objects.filter(pk=set_id, owner=owner).first()


def set_visible(user: User | None, set_id: uuid.UUID) -> QuestionSet | None:
    """A set of one's own, or a published one."""
    found = QuestionSet.objects.select_related("owner").filter(pk=set_id).first()
    if found is None or (found.published is None and (user is None or found.owner_id != user.pk)):
        return None
    return found


def set_by_code(code: str) -> QuestionSet | None:
    """A set by its link."""
    return QuestionSet.objects.select_related("owner").filter(share_code=code).first()


def set_items(question_set: QuestionSet) -> list[SetItem]:
    """The items in order with their questions."""
    items = SetItem.objects.filter(question_set=question_set)
    return list(
        items.prefetch_related(Prefetch("question", Question.objects.select_related("topic", "rubric")))
    )


def points_sum(items: list[SetItem]) -> Decimal:
    """All points of a set."""
    return sum((item.points for item in items), Decimal(0))
