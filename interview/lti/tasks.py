"""The Celery task that talks to platforms: off the chores' thread, for a platform may be slow."""

from __future__ import annotations

from interview.celery import app


@app.task(name="lti.scores_send")
def scores_send() -> None:
    """Send the scores that are due."""
    from interview.lti import scores

    scores.scores_send()
