"""What the clock asks for: compare scores, wake the sender, forget launches."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone

from interview.lti.arriving import launches_prune
from interview.lti.models import WAITING, ScoreReturn
from interview.runs.chores import register


def scores_return() -> None:
    """Find what changed and wake the sender when something is due."""
    if not settings.LTI_HOSTS:
        return
    from interview.lti.scores import scores_compare
    from interview.lti.tasks import scores_send

    scores_compare()
    if ScoreReturn.objects.filter(state=WAITING, next_try__lte=timezone.now()).exists():
        scores_send.delay()


register("lti-scores", 60, scores_return)
register("lti-launches", 3_600, launches_prune)
