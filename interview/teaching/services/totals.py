"""The stored sums of submissions, brought up to date after whatever changes a score."""

from __future__ import annotations

from decimal import Decimal

from django.db.models import QuerySet

from interview.teaching.models import Answer, Submission

BATCH = 500


def answers_lock(answer_ids: list[int]) -> None:
    """Hold these answers until the transaction ends: a ruling and a verdict that come at once are counted one after the other."""
    list(Answer.objects.select_for_update().filter(pk__in=answer_ids).order_by("pk").values_list("pk"))


def totals_update(submissions: QuerySet[Submission]) -> None:
    """Sum the answers of these submissions anew: points earned before any late penalty, and how many have no score."""
    rows = {row.pk: row for row in submissions}
    for row in rows.values():
        row.earned, row.n_pending = Decimal(0), 0
    answers = Answer.objects.filter(submission__in=list(rows)).values_list(
        "submission_id", "share", "item__points", "item__everybody"
    )
    for submission_id, share, points, everybody in answers:
        row = rows[submission_id]
        if share is None and not everybody:
            row.n_pending += 1
            continue
        row.earned = (row.earned or Decimal(0)) + (points if everybody else points * Decimal(str(share)))
    Submission.objects.bulk_update(rows.values(), ["earned", "n_pending"], batch_size=BATCH)
