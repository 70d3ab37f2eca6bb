from __future__ import annotations

from django.urls import path

from interview.runs import share_views, trace_views, views

app_name = "runs"
urlpatterns = [
    path("", views.run_list, name="run_list"),
    path("compare/", trace_views.compare, name="compare"),
    path("shared/<str:key>/", share_views.shared, name="shared"),
    path("shared/<str:key>/trace/", share_views.shared_trace, name="shared_trace"),
    path("shared/<str:key>/fork/", share_views.fork, name="fork"),
    path("<uuid:run_id>/", views.run, name="run"),
    path("<uuid:run_id>/status/", views.status, name="status"),
    path("<uuid:run_id>/events/", views.events, name="events"),
    path("<uuid:run_id>/cancel/", views.cancel, name="cancel"),
    path("<uuid:run_id>/trace/", trace_views.trace, name="trace"),
    path("<uuid:run_id>/erase/", trace_views.erase, name="erase"),
    path("<uuid:run_id>/replay/", trace_views.replay, name="replay"),
    path("<uuid:run_id>/share/", share_views.share, name="share"),
    path("<uuid:run_id>/unshare/", share_views.unshare, name="unshare"),
]
