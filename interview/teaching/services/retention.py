"""Letting go of personal data: when a class is over, and for one learner."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from interview.runs.models import Run
from interview.teaching.models import AccessEntry, Classroom, Extension, Membership, Submission


@transaction.atomic
def learner_delete(*, membership: Membership) -> int:
    """Delete everything one learner handed in to a class, with its scores; how many attempts. The seat stays."""
    rows = Submission.objects.filter(assignment__classroom=membership.classroom, owner=membership.owner)
    n_deleted = rows.count()
    Run.objects.filter(pk__in=rows.exclude(run=None).values("run")).delete()
    rows.delete()
    Extension.objects.filter(assignment__classroom=membership.classroom, owner=membership.owner).delete()
    AccessEntry.objects.filter(classroom=membership.classroom, owner=membership.owner).delete()
    return n_deleted


def retention_apply() -> int:
    """Delete the answers of classes archived longer ago than they said. How many classes were cleared."""
    n_cleared = 0
    for classroom in Classroom.objects.filter(archived__isnull=False, retention_days__isnull=False):
        assert classroom.archived is not None and classroom.retention_days is not None
        if classroom.archived + timedelta(days=classroom.retention_days) > timezone.now():
            continue
        for membership in Membership.objects.filter(classroom=classroom).select_related("owner"):
            n_cleared += bool(learner_delete(membership=membership))
    return n_cleared
