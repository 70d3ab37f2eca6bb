"""The one Celery task: wake up and execute a run. Everything else is in worker.py."""

from __future__ import annotations

from interview.celery import app


@app.task(name="runs.execute")
def execute_run(run_id: str) -> None:
    """Execute a run if it is still there to take; a stale message finds nothing and ends."""
    from interview.runs import worker

    worker.execute(run_id)
