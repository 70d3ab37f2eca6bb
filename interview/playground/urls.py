from __future__ import annotations

from django.urls import path

from interview.playground import views

app_name = "playground"
urlpatterns = [
    path("", views.playground, name="playground"),
    path("generate/", views.generate, name="generate"),
    path("generate/fork/", views.fork, name="fork"),
]
