"""A guest's practice becomes an account's: what an account may hold only once for a question is merged."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.plain_text import is_blank
from interview.practice.models import Draft, ReviewCard


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
        mine.text = _both_texts(mine, draft)
        mine.revision = max(mine.revision, draft.revision) + 1
        mine.updated = timezone.now()
        mine.save(update_fields=["text", "revision", "updated"])
        draft.delete()
        merged += 1
    return Adoption(moved, merged)


def _both_texts(mine: Draft, guests: Draft) -> str:
    newer, older = sorted((mine, guests), key=lambda draft: draft.updated, reverse=True)
    if is_blank(older.text) or older.text.strip() in newer.text:
        return newer.text
    if is_blank(newer.text) or newer.text.strip() in older.text:
        return older.text
    return f"{newer.text}\n\n{older.text}"


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
