from __future__ import annotations

from django.urls import path

from interview.tools import views

app_name = "tools"
urlpatterns = [
    path("", views.tools, name="tools"),
    path("proposals/<uuid:proposal_id>/confirm/", views.confirm, name="confirm"),
    path("proposals/<uuid:proposal_id>/decline/", views.decline, name="decline"),
]
