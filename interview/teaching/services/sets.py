"""Writes of question sets."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.questions.models import Question
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import QuestionSet, SetItem

ITEM_LIMIT = 100


@dataclass(frozen=True)
class ItemRow:
    """What one line of the set's form says."""

    item: int
    place: int
    position: int
    section: str
    points: Decimal
    note: str
    remove: bool = False

    @property
    def order(self) -> tuple[int, int]:
        """A line that was given the place of another goes before it when it moved up, after it when it moved down."""
        return self.position, (self.position > self.place) - (self.position < self.place)


def set_create(*, owner: User, title: str, about: str = "") -> QuestionSet:
    """An empty set."""
    return QuestionSet.objects.create(owner=owner, title=title, about=about)


def set_update(*, question_set: QuestionSet, title: str, about: str) -> None:
    """Change title and description."""
    question_set.title, question_set.about, question_set.updated = title, about, timezone.now()
    question_set.save(update_fields=["title", "about", "updated"])


def set_delete(*, question_set: QuestionSet) -> None:
    """Delete a set. Assignments made from it keep their questions."""
    question_set.delete()


@transaction.atomic
def items_add(
    *,
    question_set: QuestionSet,
    questions: Iterable[Question],
    points: Decimal = Decimal(1),
    section: str = "",
) -> int:
    """Put questions at the end; those already in stay where they are. The number added. Raises TeachingRefused."""
    QuestionSet.objects.select_for_update().get(pk=question_set.pk)
    present = dict(SetItem.objects.filter(question_set=question_set).values_list("question_id", "position"))
    fresh = [question for question in dict.fromkeys(questions) if question.pk not in present]
    if len(present) + len(fresh) > ITEM_LIMIT:
        raise TeachingRefused(f"A set holds at most {ITEM_LIMIT} questions. Make a second set for the rest.")
    first = max(present.values(), default=0) + 1
    last = SetItem.objects.filter(question_set=question_set).order_by("-position").first()
    heading = section or (last.section if last else "")
    SetItem.objects.bulk_create(
        SetItem(
            question_set=question_set,
            question=question,
            position=first + index,
            points=points,
            section=heading,
        )
        for index, question in enumerate(fresh)
    )
    _touch(question_set)
    return len(fresh)


@transaction.atomic
def items_update(
    *, question_set: QuestionSet, rows: list[ItemRow], up: int | None = None, down: int | None = None
) -> None:
    """Store the whole list as its form says: order, sections, points, notes, removals; one item may move a place."""
    items = {item.pk: item for item in SetItem.objects.filter(question_set=question_set)}
    kept = [row for row in rows if row.item in items and not row.remove]
    ordered = _moved(sorted(kept, key=lambda row: row.order), up, down)
    for position, row in enumerate(ordered, start=1):
        item = items[row.item]
        item.position, item.section, item.points, item.note = position, row.section, row.points, row.note
    SetItem.objects.bulk_update(
        [items[row.item] for row in ordered], ["position", "section", "points", "note"]
    )
    gone = [row.item for row in rows if row.remove]
    SetItem.objects.filter(question_set=question_set, pk__in=gone).delete()
    _touch(question_set)


def _moved(rows: list[ItemRow], up: int | None, down: int | None) -> list[ItemRow]:
    """Move one row a place; crossing into another section takes that section's heading."""
    place = next((index for index, row in enumerate(rows) if row.item in (up, down)), None)
    if place is None:
        return rows
    other = place - 1 if rows[place].item == up else place + 1
    if not 0 <= other < len(rows):
        return rows
    if rows[place].section != rows[other].section:
        rows[place] = replace(rows[place], section=rows[other].section)
        return rows
    rows[place], rows[other] = rows[other], rows[place]
    return rows


def item_remove(*, question_set: QuestionSet, question_id: str) -> None:
    """Take a question out of the set."""
    SetItem.objects.filter(question_set=question_set, question_id=question_id).delete()
    _touch(question_set)


def _touch(question_set: QuestionSet) -> None:
    QuestionSet.objects.filter(pk=question_set.pk).update(updated=timezone.now())


@transaction.atomic
def set_duplicate(*, question_set: QuestionSet, owner: User) -> QuestionSet:
    """A copy that belongs to `owner`; changes to either leave the other alone. Notes are for whoever wrote them."""
    own = question_set.owner_id == owner.pk
    copy = QuestionSet.objects.create(
        owner=owner, title=f"Copy of {question_set.title}"[:120], about=question_set.about
    )
    SetItem.objects.bulk_create(
        SetItem(
            question_set=copy,
            question_id=item.question_id,
            position=item.position,
            section=item.section,
            points=item.points,
            note=item.note if own else "",
        )
        for item in question_set.items.all()
    )
    return copy


def set_share(*, question_set: QuestionSet, on: bool) -> None:
    """Give the set a link that anybody can read it by, or take it back (the old link opens nothing then)."""
    code = secrets.token_urlsafe(16) if on else None
    if on and question_set.share_code:
        return
    QuestionSet.objects.filter(pk=question_set.pk).update(share_code=code)


def set_publish(*, question_set: QuestionSet, on: bool) -> None:
    """Show the set in the gallery, or take it out. Raises TeachingRefused for an empty one."""
    if on and not question_set.items.exists():
        raise TeachingRefused("Put at least one question into the set before you publish it.")
    QuestionSet.objects.filter(pk=question_set.pk).update(published=timezone.now() if on else None)
