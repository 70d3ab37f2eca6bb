"""Letting go of texts: when an owner asks, when their time is over, when an account leaves. The chain stays whole."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from interview.accounts.models import User
from interview.runs import kinds
from interview.runs.events import stream_forget
from interview.runs.models import ENDED, Erasure, Run, Trace

ERASED = "[erased]"
# Keys of a run's input whose texts are a choice of the program's or a row's id; every other text may be somebody's words.
KEPT = {
    "role", "order", "contract", "conditions", "type", "rule", "start", "speculation", "style", "calculator", "outcome",
    "run", "previous", "hash", "rubric_hash", "attempt", "document", "documents", "collection", "evaluation", "submission",
}  # fmt: skip
# Objects whose keys are words too, and lists of token ids, which spell a text.
WHOLE = {"schema", "variables", "parameters", "arguments", "result", "metadata", "tools"}
SPELT = {"continue_ids", "kept", "logit_bias"}
BATCH = 200


def account_leaving(*, user: User, **_: Any) -> None:
    """Write why the traces of an account (and of guests merged into it) go, so that the database lets them."""
    owners = [user, *user.merged_guests.all()]
    _note(Trace.objects.filter(run__owner__in=owners), "account")


@transaction.atomic
def run_erase(run: Run, *, reason: str = "owner") -> bool:
    """Delete the trace of an ended run and the texts of the run itself; False when it hasn't ended or is erased."""
    mine = Run.objects.select_for_update().filter(pk=run.pk, state__in=ENDED, erased=None)
    if not mine.exists():
        return False
    traces = Trace.objects.filter(run=run)
    _note(traces, reason)
    traces.delete()
    words = run.input if _keeps_input(run) else without_words(run.input)
    Run.objects.filter(pk=run.pk).update(input=words, output=None, reason="", erased=timezone.now())
    transaction.on_commit(partial(stream_forget, run.pk))
    run.refresh_from_db()
    return True


def runs_prune() -> int:
    """Erase ended runs older than the site keeps them; how many. 0 days keep everything."""
    if not settings.TRACE_RETENTION_DAYS:
        return 0
    before = timezone.now() - timedelta(days=settings.TRACE_RETENTION_DAYS)
    old = Run.objects.filter(state__in=ENDED, erased=None, finished__lt=before).order_by("finished")
    return sum(run_erase(run, reason="retention") for run in old[:BATCH])


def _keeps_input(run: Run) -> bool:
    kind = kinds.known(run.kind)
    return kind is not None and not kind.erasable


def _note(traces: QuerySet[Trace], reason: str) -> None:
    known = traces.filter(entry__erasure=None).values_list("entry_id", flat=True)
    Erasure.objects.bulk_create([Erasure(entry_id=entry, reason=reason) for entry in known])


def without_words(value: Any, key: str = "") -> Any:
    """A run's input with its shape and numbers, and without its texts; what a program chose itself stays."""
    if key in SPELT and value:
        return type(value)()
    if key in WHOLE and value is not None:
        return ERASED
    if isinstance(value, dict):
        return {name: without_words(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [without_words(part, key) for part in value]
    if not isinstance(value, str) or key in KEPT:
        return value
    return "" if key == "query" else ERASED
