"""What changed in a class's gradebook since an address was told: found by comparison, so nothing has to remember to tell."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from interview.teaching.models import Assignment, Classroom
from interview.teaching.scoring import rounded
from interview.teaching.selectors.gradebook import NOT_IN, Row, class_rows
from interview.webhooks.models import CHANGED, Delivery, Told, Webhook

Line = dict[str, Any]
Lines = dict[Assignment, dict[int, Line]]


def lines_of(classroom: Classroom, assignment: Assignment | None = None) -> Lines:
    """Each learner's line of each assignment, as it is told: numbers and the school's own, no name and no answer."""
    assignments, rows = class_rows(classroom, assignment)
    found: Lines = {assignment: {} for assignment in assignments}
    for seat, standings in rows:
        for assignment, row in zip(assignments, standings, strict=True):
            found[assignment][seat.pk] = _line(row)
    return found


def _line(row: Row) -> Line:
    score = row.score
    earned = None if score is None or score.earned is None else float(rounded(score.earned))
    return {
        "member": row.seat.pk,
        "number": row.seat.number,
        "state": row.state,
        "attempt": score.submission.number if score else None,
        "handed_in": score.submission.submitted.isoformat() if score and score.submission.submitted else None,
        "earned": earned,
        "late_credit_percent": score.credit if score else None,
        "late_penalty": float(score.penalty) if score and earned is not None else None,
        "points": None if row.points is None else float(row.points),
    }


def _digests(lines: Mapping[int, Line]) -> dict[str, str]:
    """Of who has done something: an address that knows nothing of somebody knows that nothing is there."""
    return {
        str(member): hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()[:16]
        for member, line in lines.items()
        if line["state"] != NOT_IN
    }


def told_now(webhook: Webhook) -> None:
    """A fresh address hears of what changes from now on."""
    for assignment, lines in lines_of(webhook.classroom).items():
        Told.objects.update_or_create(
            webhook=webhook, assignment=assignment, defaults={"digests": _digests(lines)}
        )


def webhooks_compare() -> int:
    """Put what changed on the way to every address that takes it. How many deliveries."""
    webhooks = Webhook.objects.filter(disabled=None, classroom__archived=None).select_related("classroom")
    read: dict[Any, Lines] = {}
    n_made = 0
    for webhook in webhooks:
        if webhook.classroom_id not in read:
            read[webhook.classroom_id] = lines_of(webhook.classroom)
        n_made += _compare(webhook, read[webhook.classroom_id])
    return n_made


@transaction.atomic
def _compare(webhook: Webhook, lines: Lines) -> int:
    Webhook.objects.select_for_update().get(pk=webhook.pk)
    told = {row.assignment_id: row.digests for row in Told.objects.filter(webhook=webhook)}
    n_made = 0
    for assignment, mine in lines.items():
        before, now = told.get(assignment.pk, {}), _digests(mine)
        changed = sorted(int(key) for key in before.keys() | now.keys() if before.get(key) != now.get(key))
        if not changed:
            continue
        Told.objects.update_or_create(webhook=webhook, assignment=assignment, defaults={"digests": now})
        Delivery.objects.create(webhook=webhook, event=CHANGED, assignment=assignment, members=changed)
        n_made += 1
    return n_made


def body_of(delivery: Delivery) -> bytes | None:
    """What is sent: the lines as they are at this moment. None when everybody it was about is gone."""
    data: dict[str, Any] = {"class": str(delivery.webhook.classroom_id)}
    if delivery.assignment is not None:
        lines = lines_of(delivery.webhook.classroom, delivery.assignment)[delivery.assignment]
        learners = [lines[member] for member in delivery.members if member in lines]
        if not learners:
            return None
        items = delivery.assignment.questions.values_list("points", flat=True)
        data |= {
            "assignment": str(delivery.assignment_id),
            "title": delivery.assignment.title,
            "of": float(sum(items)),
            "learners": learners,
        }
    document = {"type": delivery.event, "timestamp": timezone.now().isoformat(), "data": data}
    return json.dumps(document, ensure_ascii=False).encode()
