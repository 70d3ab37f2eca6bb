"""Addresses of a class's webhooks."""

from __future__ import annotations

from django.urls import path

from interview.webhooks import views

app_name = "webhooks"
HERE = "classes/<uuid:class_id>/webhooks/"
ONE = f"{HERE}<uuid:webhook_id>/"
urlpatterns = [
    path(HERE, views.webhook_list, name="webhook_list"),
    path(ONE, views.webhook_page, name="webhook_page"),
    path(f"{ONE}ping/", views.webhook_ping, name="webhook_ping"),
    path(f"{ONE}secret/", views.secret_renew, name="secret_renew"),
    path(f"{ONE}resume/", views.webhook_resume, name="webhook_resume"),
    path(f"{ONE}delete/", views.webhook_delete, name="webhook_delete"),
]
