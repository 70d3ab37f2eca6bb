"""What somebody has to do, over all their classes."""

from __future__ import annotations

from django.db.models import Count, Sum
from django.utils import timezone

from interview.accounts.models import User
from interview.teaching.models import LEARNER, Assignment, Notification
from interview.teaching.selectors.overview import Line, learner_lines


def lines(user: User) -> list[Line]:
    """Open and past assignments of the classes one learns in, by one's own due date; three queries."""
    now = timezone.now()
    found = (
        Assignment.objects.filter(
            classroom__memberships__owner=user,
            classroom__memberships__left__isnull=True,
            classroom__memberships__role=LEARNER,
            classroom__archived__isnull=True,
            opens__lte=now,
        )
        .select_related("classroom")
        .annotate(n_questions=Count("questions", distinct=True), sum_points=Sum("questions__points"))
    )
    return sorted(learner_lines(list(found), user, now), key=lambda line: line.window.due)


def unread_count(user: User) -> int:
    """Notifications not looked at."""
    return Notification.objects.filter(owner=user, read__isnull=True).count()
