"""A guest's practice becomes the account's: drafts are merged here, everything else just changes owner."""

from __future__ import annotations

from django.db.models import F
from django.dispatch import receiver
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.signals import account_leaving, guest_adopted
from interview.practice import adoption
from interview.practice.models import Attempt
from interview.questions.models import Question


@receiver(guest_adopted)
def merge_practice(*, guest: User, user: User, **_: object) -> None:
    """Merge what an account may hold only once for a question: drafts and review cards."""
    adoption.drafts_adopt(guest=guest, user=user)
    adoption.cards_adopt(guest=guest, user=user)


@receiver(account_leaving)
def keep_answered_questions(*, user: User, **_: object) -> None:
    """Own questions that others have answered stay behind without an owner, readable with those answers only."""
    others = Attempt.objects.filter(question__owner=user).exclude(owner=F("question__owner"))
    answered = others.values("question_id")
    Question.objects.filter(pk__in=answered).update(owner=None, retired=timezone.now())
