"""Runs that others may read: published by a link nobody can guess, revoked by deleting it, forked into one's own."""

from __future__ import annotations

import secrets

from django.db import transaction

from interview.accounts.models import User
from interview.runs import kinds
from interview.runs.models import ENDED, Run, RunShare
from interview.runs.services import run_create


class CannotShare(Exception):
    """This run can't be published or forked; the message says why."""


@transaction.atomic
def share_create(run: Run) -> RunShare:
    """Publish an ended run; one that is published already keeps its link. Raises CannotShare."""
    if not shareable(run):
        raise CannotShare(
            "Only a run of the model that has ended, and whose texts are still there, can be shared."
        )
    found, _ = RunShare.objects.get_or_create(run=run, defaults={"key": secrets.token_urlsafe(32)})
    return found


def share_revoke(run: Run) -> bool:
    """The link opens nothing any more; False when there was none."""
    return bool(RunShare.objects.filter(run=run).delete()[0])


def shareable(run: Run) -> bool:
    """Whether a run may be published: what a person asked the model for, once it has ended."""
    kind = kinds.known(run.kind)
    return kind is not None and kind.counts_against_quota and run.state in ENDED and run.erased is None


def shared_run(key: str) -> Run | None:
    """The run behind a link, or None."""
    share = RunShare.objects.select_related("run").filter(key=key, run__erased=None).first()
    return share.run if share else None


def run_fork(run: Run, owner: User) -> Run:
    """Queue the same request as one's own run. Raises CannotShare, QuotaExceeded."""
    kind = kinds.known(run.kind)
    if kind is None or not kind.replays:
        raise CannotShare("Runs of this kind can't be forked.")
    if fault := kinds.remote_fault(run.kind):
        raise CannotShare(fault)
    return run_create(owner=owner, kind=run.kind, input=run.input, origin={"forked_from": str(run.pk)})
