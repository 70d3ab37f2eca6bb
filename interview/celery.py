"""The Celery application. A message only wakes a worker; the Run row is the job (docs/runs.md)."""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import worker_init, worker_shutdown, worker_shutting_down

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview.settings")

app = Celery("prefill")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["interview.runs", "interview.lti", "interview.webhooks"])


@worker_init.connect
def _boot(**_: object) -> None:
    """Load the models before the first message is taken."""
    from interview.runs import worker

    worker.boot()


@worker_shutting_down.connect
def _stop(**_: object) -> None:
    """Runs in progress go back to the queue for the next worker."""
    from interview.runs import worker

    worker.current().stop()


@worker_shutdown.connect
def _close(**_: object) -> None:
    from interview.runs import worker

    worker.current().close()
