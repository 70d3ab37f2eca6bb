"""Whose turn is it? Owners are served in turn, whoever has least running first, so that a long queue of one
person never holds up another.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Max, Min
from django.utils import timezone

from interview.runs.models import ATTEMPT_CAP, QUEUED, RUNNING, Run

TRIES = 8
REMEMBERED = timedelta(minutes=15)  # how far back it is remembered who was served last


@dataclass(frozen=True)
class Turn:
    """An owner with something queued."""

    owner: int
    running: int
    served: datetime | None
    oldest: datetime

    @property
    def order(self) -> tuple[int, float, datetime]:
        """Fewest running first, then whoever was served longest ago, then who has waited longest."""
        return self.running, self.served.timestamp() if self.served else 0.0, self.oldest


def turns(full: Collection[str] = ()) -> list[Turn]:
    """Owners with queued runs in the order they are served; those with as many running as they may are left out.

    Kinds of which a worker does as many as it may (`full`) are passed over.
    """
    waiting = dict(
        Run.objects.filter(state=QUEUED, attempt__lt=ATTEMPT_CAP)
        .exclude(kind__in=full)
        .order_by()
        .values_list("owner")
        .annotate(oldest=Min("created"))
    )
    if len(waiting) < 2:
        served: dict[int, datetime] = {}
    else:
        since = timezone.now() - REMEMBERED
        recent = Run.objects.filter(owner__in=waiting, started__gte=since).order_by()
        served = dict(recent.values_list("owner").annotate(last=Max("started")))
    running = dict(
        Run.objects.filter(state=RUNNING, owner__in=waiting)
        .order_by()
        .values_list("owner")
        .annotate(n=Count("pk"))
    )
    listed = [
        Turn(owner, running.get(owner, 0), served.get(owner), oldest) for owner, oldest in waiting.items()
    ]
    allowed = [turn for turn in listed if turn.running < settings.RUN_PARALLEL_LIMIT]
    return sorted(allowed, key=lambda turn: turn.order)


def next_run(full: Collection[str] = ()) -> uuid.UUID | None:
    """The run whose turn it is: the oldest of the owner who comes next."""
    for turn in turns(full):
        queued = Run.objects.filter(owner=turn.owner, state=QUEUED, attempt__lt=ATTEMPT_CAP)
        queued = queued.exclude(kind__in=full)
        found = queued.order_by("created", "pk").values_list("pk", flat=True).first()
        if found is not None:
            return found
    return None


def run_claim_next(*, worker: str, full: Collection[str] = ()) -> Run | None:
    """Take the run whose turn it is for this worker; None when there is nothing to take."""
    from interview.runs.services import run_claim

    for _ in range(TRIES):
        candidate = next_run(full)
        if candidate is None:
            return None
        claimed = run_claim(str(candidate), worker=worker)
        if claimed is not None:
            return claimed
    return None


def held_back(owner_id: int) -> Run | None:
    """A queued run of somebody one of whose runs has ended: its message may have been spent while they had as many
    running as they may.
    """
    if Run.objects.filter(owner=owner_id, state=RUNNING).count() >= settings.RUN_PARALLEL_LIMIT:
        return None
    return Run.objects.filter(owner=owner_id, state=QUEUED).order_by("created", "pk").first()


def passed_over(kind: str) -> Run | None:
    """A queued run of a kind one of whose runs has ended: its message may have been spent while the kind was full."""
    return Run.objects.filter(kind=kind, state=QUEUED).order_by("created", "pk").first()


def place_of(run: Run) -> int:
    """Which place in the queue a run has when owners are served in turn; 1 is next."""
    mine = Run.objects.filter(owner=run.owner_id, state=QUEUED, created__lt=run.created).count()
    others = Counter(
        dict(
            Run.objects.filter(state=QUEUED)
            .exclude(owner=run.owner_id)
            .order_by()
            .values_list("owner")
            .annotate(n=Count("pk"))
        )
    )
    earlier = set(
        Run.objects.filter(state=QUEUED, created__lt=run.created)
        .exclude(owner=run.owner_id)
        .order_by()
        .values_list("owner", flat=True)
    )
    # In each round everybody else goes once; in mine, those who have waited longer than this run.
    ahead = sum(min(n, mine + (owner in earlier)) for owner, n in others.items())
    return 1 + mine + ahead
