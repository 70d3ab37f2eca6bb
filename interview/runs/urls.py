from __future__ import annotations

from django.urls import path

from interview.runs import trace_views, views

app_name = "runs"
urlpatterns = [
    path("", views.run_list, name="run_list"),
    path("<uuid:run_id>/", views.run, name="run"),
    path("<uuid:run_id>/status/", views.status, name="status"),
    path("<uuid:run_id>/events/", views.events, name="events"),
    path("<uuid:run_id>/cancel/", views.cancel, name="cancel"),
    path("<uuid:run_id>/trace/", trace_views.trace, name="trace"),
    path("<uuid:run_id>/erase/", trace_views.erase, name="erase"),
]
