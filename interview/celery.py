"""The Celery application. A message only wakes a worker; the Run row is the job (docs/runs.md)."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview.settings")

app = Celery("prefill")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["interview.runs"])
