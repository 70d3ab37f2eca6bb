"""Writes of evaluations: begin one, keep its results once, delete it."""

from __future__ import annotations

import random
from typing import Any

from django.db import transaction

from interview.accounts.models import User
from interview.documents.models import Evaluation
from interview.runs.models import ENDED, Run
from interview.runs.services import run_cancel, run_create

KEPT = 50  # evaluations of one owner; the oldest go


@transaction.atomic
def evaluation_create(
    *,
    owner: User,
    name: str,
    style: str,
    questions: list[dict[str, Any]],
    most: int,
    selection: dict[str, Any],
    idempotency_key: str,
) -> Evaluation:
    """Store a set (a part of it, drawn alike from both halves) and queue its run. Raises QuotaExceeded."""
    key = f"evaluation-{idempotency_key}"
    known = Evaluation.objects.filter(owner=owner, run__idempotency_key=key).first()
    if known is not None:
        return known
    made = Evaluation.objects.create(
        owner=owner, name=name[:120], style=style, questions=drawn(questions, most), selection=selection
    )
    made.run = run_create(
        owner=owner, kind="evaluate", input={"evaluation": str(made.pk)}, idempotency_key=key
    )
    made.save(update_fields=["run"])
    for old in Evaluation.objects.filter(owner=owner)[KEPT:]:
        evaluation_delete(old)
    return made


def drawn(questions: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most so many questions, the same for a set every time, with and without an answer in turn."""
    if len(questions) <= most:
        return questions
    halves = [[q for q in questions if q["answers"]], [q for q in questions if not q["answers"]]]
    for half in halves:
        random.Random(20261130).shuffle(half)
    turns = [half[i] for i in range(len(questions)) for half in halves if i < len(half)]
    return turns[:most]


def evaluation_ended(run: Run) -> None:
    """In the transaction that ends the run: keep the results, once."""
    if run.output and "grounded" in run.output:
        Evaluation.objects.filter(pk=run.input["evaluation"], results__isnull=True).update(results=run.output)


@transaction.atomic
def evaluation_delete(evaluation: Evaluation) -> None:
    """Delete an evaluation; its run is stopped."""
    run = evaluation.run
    evaluation.delete()
    if run is not None and run.state not in ENDED:
        run_cancel(run)
