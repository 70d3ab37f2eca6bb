"""A set as a file: written, and read back with a report on what could not be used."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db import transaction

from interview.accounts.models import User
from interview.plain_text import storable_json
from interview.questions.own_selectors import content_of
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import LARGEST_POINTS, QuestionSet, SetItem
from interview.teaching.selectors.sets import usable_questions
from interview.teaching.services.set_questions import questions_bring
from interview.teaching.services.sets import ITEM_LIMIT

FORMAT = "prefill-set-1"


def set_document(question_set: QuestionSet) -> dict[str, Any]:
    """The set with its order, sections, points and notes; questions by their id and, for people, their title.

    The owner's own questions are in it whole, so that the file works on another account; nobody else's are.
    """
    items = list(question_set.items.select_related("question__rubric"))
    own = [item.question for item in items if item.question.owner_id == question_set.owner_id]
    return {
        "format": FORMAT,
        "title": question_set.title,
        "about": question_set.about,
        "items": [
            {
                "question": item.question_id,
                "title": item.question.title,
                "section": item.section,
                "points": str(item.points.normalize() + 0),
                "note": item.note,
            }
            for item in items
        ],
        "questions": {question.pk: content_of(question).to_dict() for question in own},
    }


@transaction.atomic
def set_import(*, owner: User, data: bytes) -> tuple[QuestionSet, list[str]]:
    """A new set from a file, and what was left out and why. Raises TeachingRefused when it is no set at all."""
    document = _document(data)
    known = usable_questions(owner).in_bulk([str(row.get("question", "")) for row in document["items"]])
    brought, unusable = questions_bring(owner, document, set(known))
    known |= brought
    made = QuestionSet.objects.create(
        owner=owner,
        title=str(document.get("title") or "Imported set")[:120],
        about=str(document.get("about") or "")[:5_000],
    )
    faults: list[str] = unusable
    items: dict[str, SetItem] = {}
    for number, row in enumerate(document["items"], start=1):
        fault = _row_fault(row, known, items)
        if fault:
            faults.append(f"Item {number}: {fault}")
            continue
        items[row["question"]] = SetItem(
            question_set=made,
            question=known[row["question"]],
            position=number,
            section=str(row.get("section") or "")[:120],
            points=Decimal(str(row.get("points", 1))).quantize(Decimal("0.01")),
            note=str(row.get("note") or "")[:5_000],
        )
    SetItem.objects.bulk_create(items.values())
    return made, faults


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = storable_json(json.loads(data.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise TeachingRefused(f"This is not a JSON file: {error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise TeachingRefused(f"This file is not a question set: its “format” must be “{FORMAT}”.")
    items = document.get("items")
    if not isinstance(document.get("questions", {}), dict):
        raise TeachingRefused("The set’s “questions” must be an object from a question’s id to the question.")
    if not isinstance(items, list) or not all(isinstance(row, dict) for row in items):
        raise TeachingRefused("The set’s “items” must be a list of objects, each with a “question”.")
    if len(items) > ITEM_LIMIT:
        raise TeachingRefused(f"A set holds at most {ITEM_LIMIT} questions, and this file has {len(items)}.")
    return document


def _row_fault(row: dict[str, Any], known: dict[str, Any], taken: dict[str, SetItem]) -> str:
    question = row.get("question")
    if not isinstance(question, str) or question not in known:
        return f"there is no question “{question}” here that you can use."
    if question in taken:
        return f"“{question}” is in the set already."
    try:
        points = Decimal(str(row.get("points", 1)))
    except InvalidOperation:
        return f"points must be a number from 0 to {LARGEST_POINTS}, not “{row.get('points')}”."
    if not points.is_finite() or not 0 <= points <= LARGEST_POINTS:
        return f"points must be a number from 0 to {LARGEST_POINTS}, not “{row.get('points')}”."
    return ""
