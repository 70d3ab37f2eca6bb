"""Reads of interview sessions: which step comes next, and which follow-ups an answer calls for."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from interview.accounts.models import User
from interview.practice.models import Attempt, InterviewSession, SessionItem
from interview.practice.selectors import STATES, ProbeView, point_views, probe_views

MOST_PROBES = 2


@dataclass(frozen=True)
class Step:
    """Where a session stands: a question, its assessment, a follow-up, or the report."""

    kind: str
    item: SessionItem | None = None
    probe: ProbeView | None = None
    n_probe: int = 0

    def deadline(self, minutes: int) -> datetime | None:
        """When a question's minutes are over."""
        if self.item is None or self.item.opened is None:
            return None
        return self.item.opened + timedelta(minutes=minutes)


def session_get(session_id: uuid.UUID, owner: User | None) -> InterviewSession | None:
    """One of the owner's sessions."""
    if owner is None:
        return None
    return InterviewSession.objects.select_related("owner").filter(pk=session_id, owner=owner).first()


def session_shared(token: str) -> InterviewSession | None:
    """The session behind a private link; an unguessable token is all it takes, until it is revoked."""
    if not token:
        return None
    return InterviewSession.objects.select_related("owner").filter(share_token=token).first()


def session_list(owner: User | None) -> QuerySet[InterviewSession]:
    """The owner's sessions, newest first, each with `n_items` and `n_answered`."""
    if owner is None:
        return InterviewSession.objects.none()
    answered = Count("items", filter=Q(items__attempt__isnull=False))
    return InterviewSession.objects.filter(owner=owner).annotate(n_items=Count("items"), n_answered=answered).order_by("-created")  # fmt: skip


def items_of(session: InterviewSession) -> list[SessionItem]:
    """The questions of a session in order, with their answers and runs."""
    related = ("question__topic", "attempt__rubric", "attempt__run", "attempt__question")
    items = session.items.select_related(*related)
    return list(items.prefetch_related("attempt__probe_attempts__run", "attempt__probe_attempts__rubric"))


def item_get(session: InterviewSession, position: int) -> SessionItem | None:
    """One question of a session."""
    related = ("question__topic", "attempt__rubric", "attempt__run", "attempt__question", "attempt__owner")
    return session.items.select_related(*related).filter(position=position).first()


def current_step(session: InterviewSession, items: list[SessionItem]) -> Step:
    """The first thing in order that is not done."""
    if session.ended is not None:
        return Step("report")
    for item in items:
        if item.skipped:
            continue
        if item.attempt is None:
            return Step("question", item)
        if _is_pending(item.attempt):
            return Step("waiting", item)
        for number, probe in enumerate(session_probes(item.attempt), start=1):
            if not probe.answers and probe.index not in item.passed_probes:
                return Step("probe", item, probe, number)
    return Step("report")


def _is_pending(attempt: Attempt) -> bool:
    return attempt.verdict is None and attempt.run is not None and not attempt.run.ended


def session_probes(attempt: Attempt) -> list[ProbeView]:
    """One follow-up each for the two worst points: contradicted before missing before partial, then by weight."""
    if attempt.verdict is None or attempt.verdict["verdict"] == "not_assessed":
        return []
    missed = [point for point in point_views(attempt) if point.state != "met"]
    missed.sort(key=lambda point: (-STATES.index(point.state), -point.weight))
    probes = probe_views(attempt)
    chosen: list[ProbeView] = []
    for point in missed:
        about = [probe for probe in probes if probe.point == point.id]
        if about and len(chosen) < MOST_PROBES:
            chosen.append(next((probe for probe in about if probe.answers), about[0]))
    return chosen
