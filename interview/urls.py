"""Addresses (design: one noun a room; the same word in URL, view, template and test)."""

from __future__ import annotations

from django.conf import settings
from django.urls import include, path

from interview import health, home, metrics
from interview.api import api
from interview.runs import views as runs

urlpatterns = [
    path("", home.home, name="home"),
    path("", include("interview.questions.urls")),
    path("", include("interview.practice.urls")),
    path("", include("interview.calculators.urls")),
    path("playground/tools/", include("interview.tools.urls")),
    path("playground/", include("interview.playground.urls")),
    path("documents/", include("interview.documents.urls")),
    path("runs/", include("interview.runs.urls")),
    path("", include("interview.teaching.urls")),
    path("", include("interview.lti.urls")),
    path("", include("interview.webhooks.urls")),
    path("account/", include("interview.accounts.urls")),
    path("api/v1/runs/<uuid:run_id>/events", runs.events, name="run_events"),
    path("api/v1/", api.urls),
    path("v1/", include("interview.openai_api.urls")),
    path("healthz/live", health.live, name="live"),
    path("healthz/ready", health.ready, name="ready"),
    path("metrics", metrics.metrics, name="metrics"),
]
if settings.DEBUG:
    urlpatterns.append(path("patterns/", home.patterns, name="patterns"))
