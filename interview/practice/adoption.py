"""A guest's practice becomes an account's: what an account may hold only once for a question is merged."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.practice.models import Draft, ReviewCard
from interview.practice.services import both_texts


@dataclass(frozen=True)
class Adoption:
    """What happened to a guest's drafts when they signed in."""

    moved: int
    merged: int


@transaction.atomic
def drafts_adopt(*, guest: User, user: User) -> Adoption:
    """Give a guest's drafts to an account. Where both have one, both texts are kept, the newer first."""
    moved = merged = 0
    for draft in Draft.objects.filter(owner=guest):
        mine = Draft.objects.filter(owner=user, question_id=draft.question_id).first()
        if mine is None:
            draft.owner = user
            draft.save(update_fields=["owner"])
            moved += 1
            continue
        newer, older = sorted((mine, draft), key=lambda one: one.updated, reverse=True)
        mine.text = both_texts(newer.text, older.text)
        mine.revision = max(mine.revision, draft.revision) + 1
        mine.updated = timezone.now()
        mine.save(update_fields=["text", "revision", "updated"])
        draft.delete()
        merged += 1
    return Adoption(moved, merged)


@transaction.atomic
def cards_adopt(*, guest: User, user: User) -> int:
    """Give a guest's review cards to an account; where both have one, the earlier due date stays."""
    moved = 0
    for card in ReviewCard.objects.filter(owner=guest):
        mine = ReviewCard.objects.filter(owner=user, question_id=card.question_id).first()
        if mine is not None and mine.due_on <= card.due_on:
            card.delete()
            continue
        if mine is not None:
            mine.delete()
        card.owner = user
        card.save(update_fields=["owner"])
        moved += 1
    return moved
